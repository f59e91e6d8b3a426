// From a profile's samples to answers about other batch sizes. Pure.
//
// Skyline (UIST 2020), "Making Performance Predictions": R(B) = aB + b (1), throughput B / (aB + b) (2), which grows
// towards 1 / a (3); memory M(B) = cB + d; and the inverses of these.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/prediction.h"
#include "analysis/profile.h"

namespace ridgeline::analysis {

/// No question goes beyond this batch size, and no answer does.
inline constexpr int kMaxBatchSize = 1 << 24;

/// What answers are made of: lines, and what they were fitted to.
struct Predictor {
  std::optional<Line> time;    ///< milliseconds
  std::optional<Line> memory;  ///< bytes; asked only without `peaks`
  std::optional<PeakModel> peaks;
  std::vector<TimeSample> time_samples;
  std::vector<MemorySample> memory_samples;
  std::vector<Skipped> skipped;
  std::uint64_t capacity_bytes = 0;  ///< 0: unknown
};

/// Fits the lines to the samples of the profile; nothing else of it is read but the skipped sizes and the capacity.
Predictor make_predictor(const Profile& profile);

/// What the models say of one batch size, from 1 to kMaxBatchSize. The peaks are asked anywhere. A line is asked only
/// where it can be believed:
/// - it grows from a fixed cost of at least 0: everywhere;
/// - it grows and its intercept is negative: not below the sampled sizes, where it falls to nothing;
/// - it does not grow: only within the sampled sizes.
BatchPrediction predict_batch(const Predictor& predictor, int batch_size);

/// kBatchSize: that batch size. kThroughput: the smallest batch size that gives at least so much. kMemory: the largest
/// that needs at most so much. Values must be positive and finite, a batch size whole and at most kMaxBatchSize.
/// The figures of an answer are those of predict_batch, so asking back with one of them gives the same batch size.
Answer answer(const Predictor& predictor, const Question& question);

}  // namespace ridgeline::analysis
