#include "analysis/prediction/trial.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "analysis/prediction/predictor.h"
#include "analysis/time/noise.h"

namespace ridgeline::analysis {

namespace {

/// Part of the memory that a trial may take by the upper end of its prediction.
constexpr double kMemoryShare = 0.9;
/// Factor for the upper end of a prediction without an interval: two sampled sizes leave nothing to judge it by.
constexpr double kUnsure = 1.5;
/// Factor for a time without an upper bound, far from the samples. The run's own limit ends what takes longer still.
constexpr double kUnboundedTime = 3;
/// Iterations of a trial: warm-up, recording, six rounds of timing and what goes before them. The reference is also
/// counted and asked for unused gradients.
constexpr double kTrialIterations = 12;
constexpr double kReferenceIterations = 20;
/// The peak of the same step hardly differs between two runs; a step whose peak does is another one.
constexpr double kSamePeak = 0.05;

double upper_end(const Estimate& estimate) {
  if (!estimate.interval.has_value()) {
    return kUnsure * estimate.value;
  }
  return estimate.interval->high.value_or(INFINITY);
}

/// Milliseconds that an iteration takes at most; infinite where nothing is known.
double longest_iteration(const Profile& profile, const BatchPrediction& batch) {
  if (batch.ms.has_value()) {
    return std::min(upper_end(*batch.ms), kUnboundedTime * batch.ms->value);
  }
  double longest = INFINITY;  // below the sampled sizes: no longer than the smallest of them
  for (const TimeSample& sample : profile.time_samples) {
    if (sample.batch_size >= batch.batch_size) {
      longest = std::min(longest, sample.ms.high);
    }
  }
  return longest;
}

double lower_width(const Measured& ms) { return (ms.value - ms.low) / ms.value; }
double upper_width(const Measured& ms) { return (ms.high - ms.value) / ms.value; }

/// a × b / c with its interval, taking the three as independent.
Measured scaled(const Measured& a, const Measured& b, const Measured& c) {
  const double value = a.value * b.value / c.value;
  const double low = std::hypot(lower_width(a), lower_width(b), upper_width(c));
  const double high = std::hypot(upper_width(a), upper_width(b), lower_width(c));
  return {value, value * std::max(0.0, 1 - low), value * (1 + high)};
}

}  // namespace

std::optional<std::string> why_not_tried(const Profile& profile, const BatchPrediction& batch,
                                         std::uint64_t available_bytes) {
  if (batch.fits == false) {
    return fmt::format("batch size {} is not tried: it would not fit into memory", batch.batch_size);
  }
  const bool on_device = batch.reserved_bytes.has_value();
  if (!on_device && !batch.peak_bytes.has_value()) {
    return fmt::format("batch size {} is not tried: how much memory it needs is not known", batch.batch_size);
  }
  const double needed = on_device ? *batch.reserved_bytes : upper_end(*batch.peak_bytes);
  const std::uint64_t room =
      on_device ? profile.capacity_bytes
                : std::min(available_bytes, profile.capacity_bytes > 0 ? profile.capacity_bytes : available_bytes);
  if (needed > kMemoryShare * static_cast<double>(room)) {
    return fmt::format("batch size {} is not tried: it may not fit into the memory that is free", batch.batch_size);
  }
  const double ms = longest_iteration(profile, batch);
  const double seconds = (kTrialIterations * ms + kReferenceIterations * profile.iteration.ms.value) / 1000;
  if (!std::isfinite(seconds)) {
    return fmt::format("batch size {} is not tried: how long it would take is not known", batch.batch_size);
  }
  if (seconds > kMaxTrialSeconds) {
    return fmt::format("batch size {} is not tried: it could take {:.0f} s", batch.batch_size, std::ceil(seconds));
  }
  return std::nullopt;
}

base::Result<Profile> with_trial(const Profile& profile, const Profile& trial, int batch_size) {
  const TimeSample* then = sample_of(profile, profile.batch_size);
  const TimeSample* now = sample_of(trial, profile.batch_size);
  if (then == nullptr || now == nullptr || trial.batch_size != profile.batch_size) {
    return base::error("the trial ended before the profiled batch size was measured again");
  }
  const auto peak = static_cast<double>(profile.peak_bytes);
  if (std::abs(static_cast<double>(trial.peak_bytes) - peak) > kSamePeak * peak) {
    return base::error("the step needs a different amount of memory than when it was profiled");
  }
  const auto failed = std::ranges::find(trial.skipped, batch_size, &Skipped::batch_size);
  if (failed != trial.skipped.end()) {
    return with_failed_trial(profile, *failed);
  }
  const auto seen =
      std::ranges::find(trial.checks, batch_size, [](const Check& check) { return check.time.batch_size; });
  if (seen == trial.checks.end() || seen->time.ms.value <= 0) {
    return base::error("the trial ended without a measurement of it");
  }
  const Predictor predictor = make_predictor(profile);
  BatchPrediction predicted = predict_batch(predictor, batch_size);
  add_reserved(predictor, predicted);
  Check check = *seen;
  check.time.ms = scaled(seen->time.ms, then->ms, now->ms);
  check.extrapolated = predicted.extrapolated;
  check.predicted_ms = predicted.ms;
  check.predicted_peak_bytes = predicted.peak_bytes;
  check.predicted_reserved_bytes = predicted.reserved_bytes;
  check.tried = true;
  check.machine_speed = then->ms.value / now->ms.value;
  check.machine_changed = differ(*then, *now);
  Profile known = profile;
  const auto same = [&](int size) { return size == batch_size; };
  std::erase_if(known.checks, [&](const Check& one) { return same(one.time.batch_size); });
  std::erase_if(known.skipped, [&](const Skipped& one) { return same(one.batch_size); });
  known.checks.push_back(check);
  std::ranges::sort(known.checks, {}, [](const Check& one) { return one.time.batch_size; });
  known.max_samples_per_second = greatest_throughput(make_predictor(known));
  return known;
}

Profile with_failed_trial(Profile profile, Skipped failure) {
  std::erase_if(profile.skipped, [&](const Skipped& one) { return one.batch_size == failure.batch_size; });
  profile.skipped.push_back(std::move(failure));
  return profile;
}

}  // namespace ridgeline::analysis
