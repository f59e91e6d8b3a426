#include "commands/profile_now.h"

#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <variant>

#include "commands/failure_text.h"
#include "commands/progress_line.h"
#include "commands/terminal.h"
#include "commands/worker_run.h"
#include "profiling/kept_profiles.h"
#include "profiling/run.h"
#include "profiling/size_chooser.h"

namespace ridgeline::commands {

std::optional<profiling::Target> find_target_or_say(const profiling::ProfileRequest& request, int& exit_code) {
  auto found = profiling::find_target(request);
  if (const auto* failed = std::get_if<profiling::RunFailure>(&found)) {
    std::cerr << failure_text(*failed, "");
    exit_code = exit_code_of(failed->failure);
    return std::nullopt;
  }
  return std::get<profiling::Target>(std::move(found));
}

std::optional<profiling::ProfileRun> profile_now(const profiling::ProfileRequest& request,
                                                 const profiling::Target& target, int& exit_code) {
  ProgressLine line;
  const auto show = [&](const protocol::Progress& step) { line.show(step); };
  const profiling::PlannedRun plan = profiling::plan_run(request, target);
  worker::Finished finished =
      run_worker({target.interpreter.path, target.cache}, plan.spec, plan.limits, show, profiling::chooser_of(plan));
  if (std::holds_alternative<worker::RunOutput>(finished.outcome)) {
    show({"analyse", 1, "Analysing"});
  }
  auto outcome = profiling::analyse_run(std::move(finished), plan);
  line.clear();
  if (const auto* failed = std::get_if<profiling::RunFailure>(&outcome)) {
    std::cerr << failure_text(*failed, target.project_root);
    exit_code = exit_code_of(failed->failure);
    return std::nullopt;
  }
  auto& run = std::get<profiling::ProfileRun>(outcome);
  std::string warning;
  profiling::keep_profile(run, request, target, warning);
  warn(warning);
  return std::move(run);
}

void warn(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    print_error("warning: " + line);
  }
}

}  // namespace ridgeline::commands
