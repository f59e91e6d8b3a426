#include "app/profiling/tried_change.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/prediction/answers.h"
#include "analysis/prediction/trial.h"
#include "app/profiling/kept_profiles.h"

namespace ridgeline::app {

namespace {

constexpr double kTimeBudgetSeconds = 1;
/// What was predicted to take a third of it at most.
constexpr std::chrono::seconds kTimeLimit{60};

/// A failure of the run that says something of the batch size: what was there before it has run in the profile.
std::optional<analysis::Skipped> observed(const protocol::Failure& failure, int batch_size) {
  using enum protocol::FailureKind;
  constexpr std::array kEnds = {kOutOfMemory, kTimeout, kProcessDied, kException};
  constexpr std::array<std::string_view, 5> kStages = {"record", "input", "iteration", "report", "time"};
  if (failure.batch_size.value_or(batch_size) != batch_size || std::ranges::find(kEnds, failure.kind) == kEnds.end() ||
      std::ranges::find(kStages, failure.stage) == kStages.end()) {
    return std::nullopt;
  }
  return analysis::Skipped{batch_size, failure.kind, failure.message};
}

}  // namespace

ProfileRequest trial_request(ProfileRequest settings, const analysis::Profile& profile, int batch_size) {
  settings.batch_sizes = {profile.batch_size};
  settings.check_sizes = {batch_size};
  settings.time_budget_seconds = std::min(settings.time_budget_seconds, kTimeBudgetSeconds);
  settings.time_limit = std::min(settings.time_limit, kTimeLimit);
  settings.keep = false;
  settings.code.clear();  // a trial adds nothing to lines
  return settings;
}

ProfileOutcome make_trial(worker::Finished finished, const ProfileRequest& request, const Target& target,
                          const PlannedRun& plan, const ProfileWithSources& held) {
  const int batch_size = request.check_sizes.front();
  base::Result<analysis::Profile> known = analysis::Profile();
  auto analysed = analyse_run(std::move(finished), plan);
  if (analysed) {
    known = analysis::with_trial(held.profile, analysed->profile, batch_size);
  } else if (auto failure = observed(analysed.error(), batch_size)) {
    known = analysis::with_failed_trial(held.profile, std::move(*failure));
  } else {
    return std::move(analysed).error();
  }
  if (!known) {
    return RunFailure{protocol::failure_of(protocol::FailureKind::kTrial, "analyse", known.error().message()), ""};
  }
  analysis::Outlook outlook = analysis::outlook_of(*known);
  std::string warning = update_kept_profile(*known, outlook, target);
  return ProfileWithSources{std::move(*known),         held.created_s,     held.sources, held.changed,
                            std::move(warning),        std::move(outlook), held.kept,    held.batch_size_literal,
                            held.batch_size_elsewhere, held.library_lines, held.what_if};
}

}  // namespace ridgeline::app
