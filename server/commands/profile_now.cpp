#include "commands/profile_now.h"

#include <iostream>
#include <sstream>
#include <string>
#include <utility>

#include "commands/failure_text.h"
#include "commands/kept_profiles.h"
#include "commands/progress_line.h"
#include "report/units.h"

namespace ridgeline::commands {

std::optional<Target> find_target_or_say(const ProfileRequest& request, int& exit_code) {
  auto found = find_target(request);
  if (const auto* failed = std::get_if<RunFailure>(&found)) {
    std::cerr << failure_text(*failed, "");
    exit_code = exit_code_of(failed->failure);
    return std::nullopt;
  }
  return std::get<Target>(std::move(found));
}

std::optional<analysis::Profile> profile_now(const ProfileRequest& request, const Target& target, int& exit_code) {
  ProgressLine progress;
  auto outcome = run_profile(request, target, [&](const protocol::Progress& step) { progress.show(step); });
  progress.clear();
  if (const auto* failed = std::get_if<RunFailure>(&outcome)) {
    std::cerr << failure_text(*failed, target.project_root);
    exit_code = exit_code_of(failed->failure);
    return std::nullopt;
  }
  auto& run = std::get<ProfileRun>(outcome);
  std::string warning;
  keep_profile(run, request, target, warning);
  warn(warning);
  return std::move(run.profile);
}

void warn(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::cerr << "ridgeline: warning: " << report::printable(line) << "\n";
  }
}

}  // namespace ridgeline::commands
