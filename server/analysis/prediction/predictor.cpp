#include "analysis/prediction/predictor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/memory/allocator_model.h"
#include "analysis/memory/peak_model.h"
#include "analysis/memory/step_replay.h"
#include "analysis/time/models.h"
#include "analysis/time/noise.h"
#include "analysis/time/time_model.h"

namespace ridgeline::analysis {

namespace {

/// A model that is made of straight pieces, outside what was sampled.
BatchRange believed(const BatchRange& sampled, const Piece& first, const Piece& last) {
  return {first.slope > 0 && first.intercept >= 0 ? 1 : sampled.low, last.slope > 0 ? kMaxBatchSize : sampled.high};
}

/// A figure of a model, unless it is not plausible.
std::optional<Estimate> positive(Estimate estimate) {
  if (!std::isfinite(estimate.value) || estimate.value <= 0) {
    return std::nullopt;
  }
  if (estimate.interval.has_value()) {
    estimate.interval->low = std::max(0.0, estimate.interval->low);
  }
  return estimate;
}

constexpr double kLoosest = 1.5;  ///< a bound this many times away from the estimate says less than the estimate
constexpr int kReach = 2;         ///< models are believed up to this many times the largest size that was measured
/// Part of a peak by which it may be off at a batch size far from the recorded ones: chosen, several times what was
/// measured (docs/dev/accuracy.md, "Far from the recorded batch sizes").
constexpr double kFarMargin = 0.01;

bool is_bound(const Predictor& predictor, int batch_size) {
  return batch_size > kReach * std::int64_t{sampled_range(predictor).high};
}

/// How often a batch size is doubled, or halved, beyond the reach of the recorded ones; 0: it is within.
double doublings_beyond_reach(const std::vector<MemorySample>& recorded, int batch_size) {
  const auto [low, high] = std::ranges::minmax(recorded, {}, &MemorySample::batch_size);
  return std::max({0.0, std::log2(batch_size / (1.0 * kReach * high.batch_size)),
                   std::log2(1.0 * low.batch_size / kReach / batch_size)});
}

/// A peak by the ledger. Beyond the reach of the recorded sizes a library may choose another algorithm, with another
/// workspace: the interval widens by kFarMargin, and again with each doubling.
Estimate ledger_estimate(const Predictor& predictor, int batch_size) {
  const Measured peak = peak_at(*predictor.peaks, batch_size);
  Estimate estimate{peak.value, std::nullopt};
  if (!predictor.peaks->checked || predictor.memory_samples.empty()) {
    return estimate;
  }
  const double beyond = doublings_beyond_reach(predictor.memory_samples, batch_size);
  const double widened = beyond > 0 ? kFarMargin * (1 + beyond) : 0;
  estimate.interval =
      Interval{std::min(peak.low, peak.value * (1 - widened)), std::max(peak.high, peak.value * (1 + widened))};
  const bool is_exact = estimate.interval->low == *estimate.interval->high;
  estimate.certainty = is_exact && !predictor.carried_at ? Certainty::kKnown : Certainty::kAbout;
  return estimate;
}

/// A peak without a ledger: by the straight line through the recorded peaks. It cannot know when the peak moves to
/// where more activations are alive, so beyond the largest recorded size it is at least what `growth` says.
Estimate line_estimate(const Predictor& predictor, int batch_size) {
  const Prediction prediction = predict(*predictor.memory, batch_size);
  Estimate estimate{prediction.y.value, std::nullopt};
  if (prediction.known) {
    estimate.interval = Interval{prediction.y.low, prediction.y.high};
  }
  const bool is_beyond = std::ranges::all_of(
      predictor.memory_samples, [&](const MemorySample& sample) { return sample.batch_size < batch_size; });
  if (is_beyond) {
    for (const Piece& instant : predictor.growth) {
      const double bytes = instant.intercept + instant.slope * batch_size;
      estimate.value = std::max(estimate.value, bytes);
      if (estimate.interval.has_value()) {
        estimate.interval->high = std::max(*estimate.interval->high, bytes * (1 + kFarMargin));
      }
    }
  }
  return estimate;
}

bool was_sampled(const Predictor& predictor, int batch_size) {
  return (!predictor.carried_at || *predictor.carried_at == batch_size) &&
         std::ranges::find(predictor.time_samples, batch_size, &TimeSample::batch_size) != predictor.time_samples.end();
}

std::optional<Estimate> time_estimate(const Predictor& predictor, int batch_size) {
  if (!time_range(predictor).contains(batch_size)) {
    return std::nullopt;
  }
  std::optional<Estimate> estimate = positive(time_at(*predictor.time, batch_size));
  if (estimate && was_sampled(predictor, batch_size)) {
    estimate->certainty = Certainty::kKnown;
  } else if (estimate && estimate->interval && is_bound(predictor, batch_size)) {
    estimate->interval->high.reset();
    if (estimate->interval->low * kLoosest >= estimate->value) {
      estimate->certainty = Certainty::kAtLeast;
    }
  }
  return estimate;
}

std::optional<Estimate> memory_estimate(const Predictor& predictor, int batch_size) {
  if (predictor.peaks.has_value()) {
    const auto sample = std::ranges::find(predictor.memory_samples, batch_size, &MemorySample::batch_size);
    if (sample != predictor.memory_samples.end() && was_sampled(predictor, batch_size)) {
      const auto peak = static_cast<double>(sample->peak_bytes);
      return Estimate{peak, Interval{peak, peak}, Certainty::kKnown};
    }
    return positive(ledger_estimate(predictor, batch_size));  // nothing where all that is known vanishes
  }
  if (!memory_range(predictor).contains(batch_size)) {
    return std::nullopt;
  }
  return positive(line_estimate(predictor, batch_size));
}

/// B / R(B). A time that may be 0 leaves the throughput without an upper bound, one without an upper bound that of 0.
/// With both nothing is known: no interval.
Estimate throughput_of(const Estimate& ms, int batch_size) {
  const double samples_ms = 1000.0 * batch_size;
  Estimate estimate{samples_ms / ms.value, std::nullopt, ms.certainty};
  if (ms.certainty == Certainty::kAtLeast) {
    estimate.certainty = Certainty::kAtMost;
  }
  if (ms.interval.has_value() && (ms.interval->high || ms.interval->low > 0)) {
    estimate.interval = Interval{ms.interval->high ? samples_ms / *ms.interval->high : 0, std::nullopt};
    if (ms.interval->low > 0) {
      estimate.interval->high = samples_ms / ms.interval->low;
    }
  }
  return estimate;
}

/// A bound above the maximum would contradict it: the model that gives the one gives the other.
void keep_below_maximum(const Predictor& predictor, Estimate& samples_per_second) {
  std::optional<Interval>& interval = samples_per_second.interval;
  if (samples_per_second.certainty != Certainty::kAtMost || !interval.has_value()) {
    return;
  }
  if (const auto greatest = greatest_throughput(predictor)) {
    const double most = std::max(*greatest, samples_per_second.value);
    interval->high = std::min(interval->high.value_or(most), most);
  }
}

std::optional<std::array<double, kCategoryCount>> categories_at(const Predictor& predictor, int batch_size) {
  if (!predictor.peaks.has_value() || predictor.peaks->parts.empty()) {
    return std::nullopt;
  }
  return peak_by_category(*predictor.peaks, batch_size);
}

std::optional<Measurement> measured_at(const Predictor& predictor, int batch_size) {
  const auto checked =
      std::ranges::find(predictor.checks, batch_size, [](const Check& one) { return one.time.batch_size; });
  if (checked != predictor.checks.end() && checked->time.ms.value > 0) {
    return Measurement{checked->time.ms,       1000.0 * batch_size / checked->time.ms.value,
                       checked->peak_bytes,    checked->tried ? Origin::kTried : Origin::kChecked,
                       checked->machine_speed, checked->machine_changed};
  }
  const auto time = std::ranges::find(predictor.time_samples, batch_size, &TimeSample::batch_size);
  const auto memory = std::ranges::find(predictor.memory_samples, batch_size, &MemorySample::batch_size);
  if (!was_sampled(predictor, batch_size) || memory == predictor.memory_samples.end() || time->ms.value <= 0) {
    return std::nullopt;
  }
  return Measurement{time->ms, 1000.0 * batch_size / time->ms.value, memory->peak_bytes};
}

/// What ran lies outside of what the model says of it, or the model cannot say how far it may be off.
bool is_missed(const TimeModel& model, const Check& check) {
  const std::optional<Interval> interval = time_at(model, check.time.batch_size).interval;
  const double ms = check.time.ms.value;
  return ms > 0 && (!interval || ms < interval->low || ms > interval->high.value_or(ms));
}

/// The model fitted again, to the samples and to the checks that it missed; nothing where it missed none. A batch size
/// that is checked and sampled keeps its sample.
std::optional<TimeModel> refitted(const TimeModel& model, const std::vector<Check>& checks) {
  std::map<int, TimeSample> samples;
  for (const TimeSample& sample : model.measured) {
    samples.emplace(sample.batch_size, sample);
  }
  for (const Check& check : checks) {
    if (is_missed(model, check)) {
      samples.emplace(check.time.batch_size, check.time);
    }
  }
  if (samples.size() == model.measured.size()) {
    return std::nullopt;
  }
  std::vector<TimeSample> ascending;
  for (const auto& [batch_size, sample] : samples) {
    ascending.push_back(sample);
  }
  std::optional<TimeModel> fitted = fit_time_model(ascending);
  if (fitted.has_value()) {
    fitted->regimes = model.regimes;
  }
  return fitted;
}

/// The bytes at each instant of a recorded step, against batch size, if all but weights, gradients and the optimizer's
/// state grows in proportion.
std::vector<Piece> growth_of(const MemoryOverTime& recorded, int batch_size) {
  std::vector<Piece> growth;
  for (std::size_t instant = 0; instant < recorded.ms.size(); ++instant) {
    Piece piece;
    for (std::size_t category = 0; category < kCategoryCount; ++category) {
      const auto bytes = static_cast<double>(recorded.bytes[category][instant]);
      const bool is_fixed = category == static_cast<std::size_t>(Category::kWeights) ||
                            category == static_cast<std::size_t>(Category::kGradients) ||
                            category == static_cast<std::size_t>(Category::kOptimizerState);
      if (is_fixed) {
        piece.intercept += bytes;
      } else {
        piece.slope += bytes / batch_size;
      }
    }
    growth.push_back(piece);
  }
  return growth;
}

}  // namespace

std::vector<MeasuredRate> measured_rates(const Predictor& predictor) {
  std::map<int, double> by_size;
  const auto add = [&](const TimeSample& sample) {
    if (sample.ms.value > 0) {
      by_size[sample.batch_size] = 1000.0 * sample.batch_size / sample.ms.value;
    }
  };
  for (const TimeSample& sample : predictor.time_samples) {
    if (was_sampled(predictor, sample.batch_size)) {
      add(sample);
    }
  }
  std::ranges::for_each(predictor.checks, add, &Check::time);
  std::vector<MeasuredRate> rates;
  for (const auto& [batch_size, samples_per_second] : by_size) {
    rates.push_back({batch_size, samples_per_second});
  }
  return rates;
}

void fit_models(Profile& profile) {
  std::ranges::sort(profile.time_samples, {}, &TimeSample::batch_size);
  profile.time_model = fit_time_model(profile.time_samples);
  if (profile.time_model.has_value()) {
    profile.time_model->regimes = profile.regimes;
  }
  std::vector<Point> peaks;
  for (const MemorySample& sample : profile.memory_samples) {
    peaks.push_back({static_cast<double>(sample.batch_size), static_cast<double>(sample.peak_bytes)});
  }
  profile.memory_model = fit_line(peaks);
}

Predictor make_predictor(const Profile& profile) {
  Predictor predictor;
  predictor.time_samples = profile.time_samples;
  predictor.memory_samples = profile.memory_samples;
  predictor.checks = profile.checks;
  predictor.skipped = profile.skipped;
  predictor.capacity_bytes = profile.capacity_bytes;
  predictor.time = profile.time_model;
  if (predictor.time.has_value()) {
    if (std::optional<TimeModel> fitted = refitted(*predictor.time, predictor.checks)) {
      predictor.time = std::move(fitted);
      predictor.refitted = true;
    }
  }
  predictor.memory = profile.memory_model;
  predictor.peaks = profile.peak_model;
  if (!predictor.peaks.has_value() && profile.memory_over_time.has_value() && profile.batch_size > 0) {
    predictor.growth = growth_of(*profile.memory_over_time, profile.batch_size);
  }
  predictor.allocator = profile.allocator;
  return predictor;
}

std::optional<Predictor> carried_over(const Predictor& earlier, const Profile& now) {
  constexpr double kSamePeak = 0.01;  // of two runs of one step
  constexpr double kSameTime = 0.1;   // however wide the noise: a profile of few iterations must not hide a change
  const int at = now.batch_size;
  const TimeSample* seen = sample_of(now, at);
  const auto then = std::ranges::find(earlier.time_samples, at, &TimeSample::batch_size);
  const auto peak = std::ranges::find(earlier.memory_samples, at, &MemorySample::batch_size);
  if (now.time_model || !earlier.time || seen == nullptr || !now.peak_known || then == earlier.time_samples.end() ||
      peak == earlier.memory_samples.end() || differ(*then, *seen) ||
      std::abs(seen->ms.value / then->ms.value - 1) > kSameTime) {
    return std::nullopt;
  }
  const auto before = static_cast<double>(peak->peak_bytes);
  const auto after = static_cast<double>(now.peak_bytes);
  if (std::abs(after - before) > kSamePeak * before) {
    return std::nullopt;
  }
  Predictor carried = earlier;
  carried.carried_at = at;
  *std::ranges::find(carried.time_samples, at, &TimeSample::batch_size) = *seen;
  std::ranges::find(carried.memory_samples, at, &MemorySample::batch_size)->peak_bytes = now.peak_bytes;
  carried.checks = now.checks;
  carried.capacity_bytes = now.capacity_bytes;
  if (std::optional<TimeModel> fitted = refitted(*carried.time, carried.checks)) {
    carried.time = std::move(fitted);
    carried.refitted = true;
  }
  for (const Skipped& skipped : now.skipped) {
    std::erase_if(carried.skipped, [&](const Skipped& one) { return one.batch_size == skipped.batch_size; });
    carried.skipped.push_back(skipped);
  }
  return carried;
}

BatchRange sampled_range(const Predictor& predictor) {
  if (predictor.time_samples.empty()) {
    return {};
  }
  return {predictor.time_samples.front().batch_size, predictor.time_samples.back().batch_size};
}

BatchRange time_range(const Predictor& predictor) {
  if (!predictor.time.has_value()) {
    return {};
  }
  const std::vector<TimeSample>& measured = predictor.time->measured;
  const BatchRange fitted =
      measured.empty() ? sampled_range(predictor) : BatchRange{measured.front().batch_size, measured.back().batch_size};
  return believed(fitted, predictor.time->pieces.front(), predictor.time->pieces.back());
}

BatchRange memory_range(const Predictor& predictor) {
  if (predictor.peaks.has_value()) {
    return {1, grows(*predictor.peaks) ? kMaxBatchSize : sampled_range(predictor).high};
  }
  if (!predictor.memory.has_value()) {
    return {};
  }
  const Piece line{1, predictor.memory->slope, predictor.memory->intercept};
  return believed(sampled_range(predictor), line, line);
}

bool ran_out_of_memory(const Predictor& predictor, int batch_size) {
  const auto failed = [&](const Skipped& skipped) {
    return skipped.kind == protocol::FailureKind::kOutOfMemory && skipped.batch_size <= batch_size;
  };
  return std::ranges::any_of(predictor.skipped, failed) && !measured_at(predictor, batch_size).has_value();
}

BatchPrediction predict_batch(const Predictor& predictor, int batch_size) {
  BatchPrediction batch;
  batch.batch_size = batch_size;
  batch.extrapolated = !sampled_range(predictor).contains(batch_size);
  batch.ms = time_estimate(predictor, batch_size);
  if (batch.ms.has_value()) {
    batch.samples_per_second = throughput_of(*batch.ms, batch_size);
    keep_below_maximum(predictor, *batch.samples_per_second);
  }
  batch.peak_bytes = memory_estimate(predictor, batch_size);
  batch.by_category = categories_at(predictor, batch_size);
  if (predictor.allocator != nullptr) {
    batch.fits = batch_size <= predictor.allocator->largest.value_or(0);
  } else if (batch.peak_bytes.has_value() && predictor.capacity_bytes > 0) {
    batch.fits = batch.peak_bytes->value <= static_cast<double>(predictor.capacity_bytes);
  }
  batch.measured = measured_at(predictor, batch_size);
  batch.carried_over = predictor.carried_at.has_value() && !batch.measured.has_value();
  if (ran_out_of_memory(predictor, batch_size)) {
    batch.fits = false;
  } else if (batch.measured.has_value() && batch.fits.has_value()) {
    batch.fits = true;
  }
  const auto failed = std::ranges::find(predictor.skipped, batch_size, &Skipped::batch_size);
  if (failed != predictor.skipped.end() && !batch.measured.has_value()) {
    batch.failed = *failed;
  }
  return batch;
}

void add_reserved(const Predictor& predictor, BatchPrediction& batch) {
  if (predictor.allocator != nullptr) {
    AllocatorNeed need = replay_step(*predictor.allocator, batch.batch_size, device_of(predictor.allocator->setup));
    if (!batch.measured.has_value() && !ran_out_of_memory(predictor, batch.batch_size)) {
      batch.fits = need.fits;  // fragmentation: of two batch sizes the smaller one may be the one that does not
    }
    if (!need.fits) {
      need = replay_step(*predictor.allocator, batch.batch_size, {});
    }
    batch.reserved_bytes = static_cast<double>(need.reserved);
  }
}

std::optional<double> greatest_throughput(const Predictor& predictor) {
  if (!predictor.time.has_value() || predictor.time->pieces.back().slope <= 0) {
    return std::nullopt;
  }
  const BatchRange range = time_range(predictor);
  const std::vector<MeasuredRate> measured = measured_rates(predictor);
  std::optional<double> greatest;
  const auto offer = [&](double rate) {
    if (std::isfinite(rate) && rate > 0) {
      greatest = std::max(greatest.value_or(0), rate);
    }
  };
  const auto offer_model = [&](int batch_size) {
    if (std::ranges::find(measured, batch_size, &MeasuredRate::batch_size) == measured.end()) {
      offer(batch_size * 1000.0 / value_at(predictor.time->pieces, batch_size));
    }
  };
  for (const MeasuredRate& one : measured) {
    offer(one.samples_per_second);
  }
  // Within a piece throughput rises or falls throughout: the greatest is at an end of one.
  offer_model(range.low);
  for (const Piece& piece : predictor.time->pieces) {
    if (range.contains(piece.from_batch)) {
      offer_model(piece.from_batch);
    }
  }
  const Piece& last = predictor.time->pieces.back();
  if (last.intercept >= 0) {
    offer(1000.0 / last.slope);
  }
  return greatest;
}

}  // namespace ridgeline::analysis
