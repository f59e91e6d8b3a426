#include "analysis/prediction/batch_conclusion.h"

namespace ridgeline::analysis {

namespace {

constexpr double kGoodFit = 0.9;       // r² below which a line is not worth an answer
constexpr double kMostOfLittle = 1.2;  // times the throughput that a gain which is called little may be at most

/// The throughput of what ran, with its interval.
std::optional<Estimate> measured_rate(const BatchPrediction& batch) {
  if (!batch.measured || batch.measured->ms.low <= 0 || batch.measured->samples_per_second <= 0) {
    return std::nullopt;
  }
  const double samples_ms = 1000.0 * batch.batch_size;
  const Measured& ms = batch.measured->ms;
  return Estimate{batch.measured->samples_per_second, Interval{samples_ms / ms.high, samples_ms / ms.low},
                  Certainty::kKnown};
}

/// Whether it may be used and recommended: it fits, as far as is known, and is not far from what ran.
bool is_usable(const Outlook& outlook, const BatchPrediction& batch) {
  return batch.fits != false && !batch.failed && is_near(outlook.now, batch.batch_size);
}

/// Not only bounded: a size far from the samples may be at most so fast.
bool is_time_known(const BatchPrediction& batch) {
  return batch.measured || (batch.samples_per_second && batch.samples_per_second->certainty != Certainty::kAtMost &&
                            batch.samples_per_second->interval && batch.samples_per_second->interval->low > 0);
}

/// The larger size that is compared with the present one: the one that is enough, the largest that fits, or twice it.
std::optional<BatchPrediction> larger_of(const Outlook& outlook) {
  const int now = outlook.now.batch->batch_size;
  for (const auto& batch : {outlook.enough.batch, outlook.fits.batch}) {
    if (batch && batch->batch_size > now && is_usable(outlook, *batch) && is_time_known(*batch)) {
      return batch;
    }
  }
  return outlook.twice.batch;
}

double low_of(const Estimate& gain) { return gain.interval ? gain.interval->low : gain.value; }

/// Absent: no bound.
std::optional<double> high_of(const Estimate& gain) { return gain.interval ? gain.interval->high : gain.value; }

BatchVerdict verdict_of(const std::optional<Estimate>& gain) {
  if (!gain) {
    return BatchVerdict::kUnknown;
  }
  const bool is_little = gain->value < kLittleGain;
  if (is_little && high_of(*gain).value_or(kMostOfLittle) < kMostOfLittle) {
    return BatchVerdict::kEnough;
  }
  return !is_little && low_of(*gain) > 1 ? BatchVerdict::kLarger : BatchVerdict::kUnclear;
}

}  // namespace

std::optional<Estimate> gain_of(const BatchPrediction& wanted, const BatchPrediction& now) {
  std::optional<Estimate> to = measured_rate(wanted);
  std::optional<Estimate> from = measured_rate(now);
  if (!to || !from) {
    to = wanted.samples_per_second;
    from = now.samples_per_second;
  }
  if (!to || !from || from->value <= 0) {
    return std::nullopt;
  }
  Estimate gain{to->value / from->value, std::nullopt, to->certainty};
  if (gain.certainty == Certainty::kKnown && from->certainty != Certainty::kKnown) {
    gain.certainty = Certainty::kAbout;
  }
  const bool is_measured = to->certainty == Certainty::kKnown && wanted.measured;
  const Estimate& base = *from;
  const bool has_interval = base.interval && base.interval->high && base.interval->low > 0;
  if (!to->interval || (is_measured && !has_interval)) {
    return gain;
  }
  // Of two measurements both ends count. What is predicted is compared with the model where the step ran, which what
  // is predicted errs with.
  const double high = is_measured ? *base.interval->high : base.value;
  const double low = is_measured ? base.interval->low : base.value;
  gain.interval = Interval{to->interval->low / high, std::nullopt};
  if (to->interval->high) {
    gain.interval->high = *to->interval->high / low;
  }
  return gain;
}

BatchConclusion conclude(const Profile& profile, const Outlook& outlook) {
  BatchConclusion conclusion;
  if (is_timing_unreliable(profile) && outlook.now.sampled.size() > 1) {
    conclusion.verdict = BatchVerdict::kUnsure;
    return conclusion;
  }
  if (!outlook.now.batch || (profile.time_model && profile.time_model->r2 < kGoodFit)) {
    return conclusion;
  }
  const BatchPrediction& now = *outlook.now.batch;
  const auto& enough = outlook.enough.batch;
  conclusion.larger = larger_of(outlook);
  if (conclusion.larger) {
    conclusion.gain = gain_of(*conclusion.larger, now);
  }
  if (!conclusion.gain && !enough) {
    return conclusion;
  }
  if (enough && enough->batch_size <= now.batch_size) {
    conclusion.verdict = BatchVerdict::kEnough;
    const bool is_known = !enough->extrapolated || enough->measured;
    if (is_known && is_usable(outlook, *enough) && now.batch_size >= kSaturatedFactor * enough->batch_size) {
      conclusion.better = enough;
    }
    return conclusion;
  }
  conclusion.verdict = verdict_of(conclusion.gain);
  if (conclusion.verdict == BatchVerdict::kUnclear && !is_usable(outlook, *conclusion.larger)) {
    conclusion.verdict = BatchVerdict::kUnknown;
  }
  if (conclusion.verdict == BatchVerdict::kLarger && is_usable(outlook, *conclusion.larger)) {
    conclusion.better = conclusion.larger;
  }
  return conclusion;
}

}  // namespace ridgeline::analysis
