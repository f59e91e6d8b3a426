#include "cli/profile_now.h"

#include <sstream>
#include <string>
#include <utility>

#include "app/profiling/entry_check.h"
#include "app/profiling/kept_profiles.h"
#include "app/profiling/profile_run.h"
#include "app/profiling/ran_sources.h"
#include "app/profiling/remaining_time.h"
#include "cli/failure_text.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"

namespace ridgeline::cli {

base::Result<app::Target, ExitCode> find_target_or_report(const app::ProfileRequest& request) {
  auto target = app::find_target(request);
  if (!target) {
    return report_failure(app::FailedProjectRun{target.error(), ""});
  }
  return std::move(*target);
}

namespace {

base::Result<app::ProfileRun, app::RunFailure> profile_with_progress(EntryRuns& runs) {
  const app::ProfileRequest& request = runs.request();
  const app::Target& target = runs.target();
  if (auto checked = app::check_entry(target, std::nullopt); !checked) {
    return std::move(checked).error();
  }
  const app::PlannedRun plan = app::plan_run(request, target);
  const app::LastDuration last = app::last_duration(request, target);
  warn(last.warning);
  app::RemainingTime remaining(last.seconds);
  ProgressLine line;
  const auto show = [&](const protocol::Progress& step) {
    line.show(step, remaining.of(step, app::RemainingTime::Clock::now()));
  };
  worker::Finished finished = runs.run(plan, show);
  if (std::holds_alternative<worker::RunOutput>(finished.outcome)) {
    show({"analyse", 0.95, "Analysing"});
  }
  const auto took = remaining.elapsed(app::RemainingTime::Clock::now());
  auto run = app::analyse_run(std::move(finished), plan);
  line.clear();
  if (!run) {
    return std::move(run).error();
  }
  const app::RanSources sources = app::ran_sources(run->profile, request.overlay, run->began);
  app::add_line_texts(run->profile, sources.texts);
  if (!request.keep) {
    return std::move(*run);
  }
  std::string warning = app::keep_profile(*run, request, target, app::seconds_since_1970());
  if (warning.empty() && took.has_value()) {
    warning = app::keep_duration(request, target, *took);
  }
  warn(warning);
  return std::move(*run);
}

}  // namespace

base::Result<app::ProfileRun, ExitCode> profile_now(const app::ProfileRequest& request, const app::Target& target) {
  EntryRuns runs(request, target);
  return profile_now(runs);
}

base::Result<app::ProfileRun, ExitCode> profile_now(EntryRuns& runs) {
  auto run = profile_with_progress(runs);
  if (!run) {
    return report_failure(app::FailedProjectRun{run.error(), runs.target().project_root});
  }
  return std::move(*run);
}

base::Task<base::Result<app::ProfileRun, app::RunFailure>> CommandProfiler::profile(app::ProfileRequest request,
                                                                                    app::Target target) {
  if (interrupts_.came()) {
    co_return app::RunFailure{
        protocol::failure_of(protocol::FailureKind::kCancelled, "start", "The profile was cancelled."), ""};
  }
  EntryRuns runs(request, target);
  co_return profile_with_progress(runs);
}

void CommandProfiler::announce(const std::string& text) { print_error(text); }

void warn(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    print_error("warning: " + line);
  }
}

}  // namespace ridgeline::cli
