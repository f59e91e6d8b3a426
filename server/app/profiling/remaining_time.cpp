#include "app/profiling/remaining_time.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/profiling/kept_profiles.h"
#include "store/profile_store.h"

namespace ridgeline::app {

namespace {

constexpr double kMostShown = 0.95;  // until the profile is there

/// Runs of one entry that are of the same kind measure as much.
std::string kind_of(const ProfileRequest& request) {
  return fmt::format("{} s, within {} s, batch sizes {}, checks {}", request.time_budget_seconds,
                     request.finish_within_seconds, fmt::join(request.batch_sizes, " "),
                     fmt::join(request.check_sizes, " "));
}

/// No more exact than it can be known.
std::string about(double seconds) {
  if (seconds >= 90) {
    return fmt::format("about {:.0f} min left", seconds / 60);
  }
  const double step = seconds > 10 ? 5 : 1;
  return fmt::format("about {:.0f} s left", std::max(1.0, step * std::round(seconds / step)));
}

}  // namespace

LastDuration last_duration(const ProfileRequest& request, const Target& target) {
  store::ProfileStore store;
  const auto opened = store.open(target.cache);
  if (!opened) {
    return {};
  }
  const auto found = store.last_duration(key_of(request, target), kind_of(request));
  return found ? LastDuration{*found, *opened} : LastDuration{std::nullopt, found.error().message()};
}

std::string keep_duration(const ProfileRequest& request, const Target& target, std::chrono::duration<double> took) {
  store::ProfileStore store;
  const auto opened = store.open(target.cache);
  if (!opened) {
    return "the duration of the run was not kept: " + opened.error().message();
  }
  const auto kept = store.keep_duration(key_of(request, target), kind_of(request), took.count());
  return kept ? *opened : "the duration of the run was not kept: " + kept.error().message();
}

protocol::Progress RemainingTime::of(protocol::Progress step, Clock::time_point now) {
  if (!began_.has_value() && step.stage != "start" && step.stage != "build") {
    began_ = now;
  }
  const auto took = elapsed(now);
  if (!took.has_value()) {
    return step;
  }
  if (expected_.has_value() && took->count() < *expected_) {
    step.fraction = kMostShown * took->count() / *expected_;
    step.message += ", " + about(*expected_ - took->count());
  }
  step.fraction = shown_ = std::max(step.fraction, shown_);
  return step;
}

std::optional<std::chrono::duration<double>> RemainingTime::elapsed(Clock::time_point now) const {
  return began_.has_value() ? std::optional<std::chrono::duration<double>>(now - *began_) : std::nullopt;
}

}  // namespace ridgeline::app
