#include "cli/script_runs.h"

#include <sys/wait.h>

#include <utility>

#include <fmt/format.h>

#include "app/profiling/script_experiment.h"
#include "app/profiling/what_if_base.h"
#include "app/script_job.h"
#include "cli/failure_text.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"
#include "cli/wait_for.h"

namespace ridgeline::cli {

namespace {

app::ScriptRequest script_of(const ScriptCommand& command) {
  app::ScriptRequest script;
  script.place = command.place;
  script.stop = true;
  script.command = {command.place.entry};
  script.command.insert(script.command.end(), command.options.arguments.begin(), command.options.arguments.end());
  script.is_silent = !command.options.allow_writes;
  return script;
}

}  // namespace

void add_script_options(CLI::App& command, const std::shared_ptr<ScriptOptions>& options) {
  command.add_flag("--allow-writes", options->allow_writes, "Let the runs of a script write files and use the network");
}

std::string script_options_problem(const ScriptOptions& options, const std::string& entry) {
  return options.arguments.empty() && !options.allow_writes
             ? ""
             : "Arguments after -- and --allow-writes are for training scripts: " + entry + " is an entry point.";
}

ScriptRuns::ScriptRuns(ScriptCommand command, app::Target target, worker::JobOptions job)
    : command_(std::move(command)),
      target_(std::move(target)),
      job_(std::move(job)),
      worker_({target_.interpreter.path, target_.cache}) {}

base::Result<std::unique_ptr<ScriptRuns>, ExitCode> ScriptRuns::open(ScriptCommand command) {
  auto target = app::find_target(command.place);
  if (!target) {
    return report_failure(app::FailedProjectRun{target.error(), ""});
  }
  auto job = app::plan_job(script_of(command));
  if (!job) {
    return report_failure(app::FailedProjectRun{job.error(), target->project_root});
  }
  return std::unique_ptr<ScriptRuns>(new ScriptRuns(std::move(command), std::move(*target), std::move(*job)));
}

void ScriptRuns::announce() const {
  print_error(command_.place.entry + " is no entry point: it runs as it is, and again for changes" +
              (command_.options.allow_writes ? "" : "; no run may write files"));
}

std::string ScriptRuns::nothing_text(const app::ScriptRun& ran) const {
  const bool ended_well = WIFEXITED(ran.status) && WEXITSTATUS(ran.status) == 0;
  return fmt::format(
      "{} {} before it {}: there is nothing to predict. What it writes is not shown here: `{}` shows it.",
      command_.place.entry, ended_well ? "ended" : worker::describe_end(ran.status),
      ran.joined ? "took a training step" : "imported torch", app::command_line(job_.command));
}

base::Result<app::ProfileRun, ExitCode> ScriptRuns::profile(bool with_sizes) {
  announce();
  app::ScriptRequest request = script_of(command_);
  if (with_sizes) {
    request.sizes = app::SizesRequest{command_.place.batch_sizes, command_.options.allow_writes};
  }
  auto profiled = answer_of(app::profile_script(script_, {std::move(request), {}, {}}));
  if (!profiled) {
    return profiled.error();
  }
  warn(profiled->warning);
  app::ScriptRun& ran = profiled->run;
  if (ran.trained > 1) {
    return fail("What changes bring is known of one process: this script trains in " + std::to_string(ran.trained) +
                ". See `ridgeline job predict`.");
  }
  if (ran.ranks.empty()) {
    return ran.failures.empty() ? fail(nothing_text(ran), kExitEntryFailed)
                                : report_failure(app::FailedProjectRun{ran.failures.front(), target_.project_root});
  }
  return std::move(ran.ranks.front().run);
}

base::Task<app::ExperimentOutcome> ScriptRuns::run(protocol::Experiment experiment) {
  if (experiment.kind != protocol::Experiment::Kind::kMeasure) {
    auto running = app::run_script_experiment(script_, job_, command_.options.allow_writes, std::move(experiment));
    co_return co_await std::move(running);
  }
  ProgressLine line;
  const app::PlannedRun plan = app::plan_experiment(command_.place, target_, std::move(experiment));
  co_return app::findings_of(worker_.run(plan, [&](const protocol::Progress& step) { line.show(step, step); }));
}

base::Task<void> ScriptRuns::off_loop(std::function<void()> work) {
  work();
  co_return;
}

}  // namespace ridgeline::cli
