#include "cli/experiments.h"

#include <utility>

#include "cli/failure_text.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"

namespace ridgeline::cli {

namespace {

app::ExperimentOutcome outcome_of(EntryRuns& runs, protocol::Experiment experiment) {
  const app::PlannedRun plan = app::plan_experiment(runs.request(), runs.target(), std::move(experiment));
  ProgressLine line;
  const auto show = [&](const protocol::Progress& step) { line.show(step, step); };
  worker::Finished finished = runs.run(plan, show);
  line.clear();
  return app::findings_of(std::move(finished));
}

}  // namespace

base::Result<worker::ExperimentFindings, ExitCode> run_experiment(EntryRuns& runs, protocol::Experiment experiment) {
  auto findings = outcome_of(runs, std::move(experiment));
  if (!findings) {
    return print_failure(findings.error(), runs.target());
  }
  return std::move(*findings);
}

base::Task<app::ExperimentOutcome> EntryExperiments::run(protocol::Experiment experiment) {
  co_return outcome_of(runs_, std::move(experiment));
}

base::Task<void> EntryExperiments::off_loop(std::function<void()> work) {
  work();
  co_return;
}

std::string EntryExperiments::cache() const { return runs_.target().cache; }

ExitCode print_failure(const app::RunFailure& failure, const app::Target& target) {
  write_to_error(failure_text(failure, target.project_root));
  return exit_code_of(failure);
}

}  // namespace ridgeline::cli
