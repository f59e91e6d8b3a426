// From a profile's samples to predictions for other batch sizes. Pure.
//
// Skyline (UIST 2020), "Making Performance Predictions": R(B) = aB + b (1), throughput B / (aB + b) (2), which grows
// towards 1 / a (3); memory M(B) = cB + d. Here R may bend, and M is the memory ledger's where there is one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// No question goes beyond this batch size, and no answer does.
inline constexpr int kMaxBatchSize = 1 << 24;

/// The models, and what they were fitted to.
struct Predictor {
  std::optional<TimeModel> time;
  bool refitted = false;       ///< `time` is also of checks that the profile's own model missed
  std::optional<Line> memory;  ///< bytes; used only without `peaks`
  std::vector<Piece> growth;   ///< likewise: bytes at each instant of the recorded step, if its data were larger
  std::optional<PeakModel> peaks;
  std::shared_ptr<const AllocatorModel> allocator;  ///< of a device: it says what fits, not `peaks`
  std::vector<TimeSample> time_samples;             ///< by batch size
  std::vector<MemorySample> memory_samples;
  std::vector<Check> checks;  ///< measured; part of `time` where the model of the samples missed them
  std::vector<Skipped> skipped;
  std::uint64_t capacity_bytes = 0;  ///< 0: unknown
  /// The models are those of an earlier profile: see carried_over(). Of what it sampled, only this batch size was
  /// measured since.
  std::optional<int> carried_at;
};

/// Fits the time and memory models to the profile's samples, for whoever makes or loads a profile: everything else uses
/// the fitted ones.
void fit_models(Profile& profile);

/// The profile's models and what they were fitted to (see fit_models()). Where a batch size that ran to check them, or
/// was tried later, lies outside of the time model's interval, or there is none, the time model is fitted again with
/// it: what is predicted agrees with all that was measured. The profile's own model, which its lines' add up to, stays.
Predictor make_predictor(const Profile& profile);

/// The models of an earlier profile for a later one of the same step that measured its own batch size alone, so that it
/// predicts nothing: with what the later one measured, and what the earlier one did is no longer called measured.
/// Nothing where the later profile has a time model, where the earlier one did not sample that batch size, and where
/// the two differ there by more than the noise or a tenth, or in the peak, since the step is then another one. Pure.
std::optional<Predictor> carried_over(const Predictor& earlier, const Profile& now);

struct BatchRange {
  int low = 1;
  int high = 0;  ///< below `low`: empty
  bool contains(int batch_size) const { return low <= batch_size && batch_size <= high; }
};

BatchRange sampled_range(const Predictor& predictor);

/// Where the time model can be believed: within the sizes that it was fitted to; below them, when its first piece grows
/// from a fixed cost of at least 0; above them, when its last piece grows. Empty without a model.
BatchRange time_range(const Predictor& predictor);

/// Where memory can be predicted: everywhere by a ledger that grows, by one that does not within and below the sampled
/// sizes; by the straight line where a time line would be. Empty without either.
BatchRange memory_range(const Predictor& predictor);

/// Whether this batch size, or a smaller one, ran out of memory when it was run, and this one was not measured.
bool ran_out_of_memory(const Predictor& predictor, int batch_size);

/// Samples per second of a batch size that ran.
struct MeasuredRate {
  int batch_size = 0;
  double samples_per_second = 0;
};
/// The rates at all batch sizes that ran, ascending.
std::vector<MeasuredRate> measured_rates(const Predictor& predictor);

/// What the models say of one batch size, from 1 to kMaxBatchSize: each figure where its model can be believed. The
/// ledger can be used anywhere. Beyond twice the largest sampled size a time is only known to be at least so long, and
/// a throughput at most so high, and never higher than the greatest; a peak is exact up to there and down to half of
/// the smallest, if every allocation was seen to grow as a polynomial. With what was seen of that size, which decides
/// whether it fits.
BatchPrediction predict_batch(const Predictor& predictor, int batch_size);

/// Adds whether that batch size fits, exactly, and what the device's caching allocator reserves for it; where that does
/// not fit, what it would on a device without a limit. A replay of the step: milliseconds. Nothing without a device.
void add_reserved(const Predictor& predictor, BatchPrediction& batch);

/// The most that was measured, or that the time model gives at any other batch size where it can be believed, samples
/// per second; nothing when time does not grow with the batch.
std::optional<double> greatest_throughput(const Predictor& predictor);

}  // namespace ridgeline::analysis
