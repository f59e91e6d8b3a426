// What another batch size would bring: one question about a profile's models and its answer, as values.
//
// Definitions: docs/dev/measurement/batch-sizes.md. Times are milliseconds, memory is bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// The given quantity; the others are predicted.
enum class Quantity : std::uint8_t {
  kBatchSize,        ///< samples
  kThroughput,       ///< samples per second, at least
  kMemory,           ///< bytes, at most
  kThroughputShare,  ///< of the greatest throughput, at least
  kBalance           ///< bytes of activations at the peak as a multiple of the weights', at least
};

struct Question {
  Quantity quantity = Quantity::kBatchSize;
  double value = 0;
};

/// Where a measurement comes from: a sample of the models; a size that the profile ran to check them; a run after it.
enum class Origin : std::uint8_t { kSampled, kChecked, kTried };

/// What was seen at a batch size that ran.
struct Measurement {
  Measured ms;
  double samples_per_second = 0;
  std::uint64_t peak_bytes = 0;
  Origin origin = Origin::kSampled;
  double machine_speed = 1;      ///< with kTried: as Check has it
  bool machine_changed = false;  ///< likewise
};

/// What the models say of one batch size. A figure that they cannot give is absent.
struct BatchPrediction {
  int batch_size = 0;
  std::optional<Estimate> samples_per_second;
  std::optional<Estimate> ms;
  std::optional<Estimate> peak_bytes;
  std::optional<std::array<double, kCategoryCount>> by_category;  ///< of the peak, bytes
  /// The most that a device's caching allocator reserves, in bytes; absent without a device, and where many batch sizes
  /// are predicted at once.
  std::optional<double> reserved_bytes;
  bool extrapolated = false;  ///< outside the sampled batch sizes
  /// Into the capacity: the peak, or all that the device's allocator needs. Absent when one of them is unknown.
  std::optional<bool> fits;
  std::optional<Measurement> measured;
  bool carried_over = false;      ///< the models are those of a profile before the last save: see carried_over()
  std::optional<Skipped> failed;  ///< this very size was run, and did not come to an end
};

/// The peak as it was measured, else as it is predicted. Bytes.
inline std::optional<double> best_peak_bytes(const BatchPrediction& batch) {
  const auto predicted = batch.peak_bytes.has_value() ? std::optional(batch.peak_bytes->value) : std::nullopt;
  return batch.measured.has_value() ? std::optional(static_cast<double>(batch.measured->peak_bytes)) : predicted;
}

/// The throughput as it was measured, else as it is predicted. Samples per second.
inline std::optional<double> best_samples_per_second(const BatchPrediction& batch) {
  const auto predicted =
      batch.samples_per_second.has_value() ? std::optional(batch.samples_per_second->value) : std::nullopt;
  return batch.measured.has_value() ? std::optional(batch.measured->samples_per_second) : predicted;
}

/// What a batch size takes of the memory that it has to fit into: what is reserved, else the peak. Bytes.
inline std::optional<double> needed_bytes(const BatchPrediction& batch) {
  return batch.reserved_bytes.has_value() ? batch.reserved_bytes : best_peak_bytes(batch);
}

/// Times the largest sampled batch size: nothing is recommended beyond.
inline constexpr int kFarthest = 1024;

/// Why there is no batch size for an answer, or a figure of it is missing.
enum class Obstacle : std::uint8_t {
  kNone,
  kTooFewSizes,      ///< fewer than two batch sizes were sampled: there is no line
  kTooFast,          ///< no batch size gives that throughput
  kTooLittleMemory,  ///< `least` needs more, and nothing is known to need less
  kTimeUnknown,      ///< the time model cannot be believed there: see predict_batch()
  kMemoryUnknown,    ///< likewise
  kNoBalance,        ///< no batch size has enough activations
  kTooFar,           ///< the answer holds, and larger ones are more than kFarthest times the largest sampled size
  kRanOut            ///< the answer ran; by the models more would fit, but that, `failed`, ran out of memory
};

struct Answer {
  Question question;
  std::optional<BatchPrediction> batch;
  Obstacle obstacle = Obstacle::kNone;
  std::optional<double> max_samples_per_second;  ///< that the time line can give; absent when it has no bound
  std::optional<BatchPrediction> least;          ///< with kTooLittleMemory: the batch size that needs least
  std::uint64_t capacity_bytes = 0;              ///< 0: unknown
  std::vector<int> sampled;                      ///< batch sizes, ascending
  std::optional<int> memory_checked_up_to;       ///< the largest batch size whose memory was measured
  /// Batch sizes, up to the answer's, that ran out of memory in the profile; with kRanOut the smallest that did.
  std::vector<Skipped> failed;
};

/// Whether the answer's batch size is larger than any whose memory was measured: what is said of it is a bound until it
/// is run.
inline bool is_beyond_checked_memory(const Answer& answer) {
  return answer.batch && answer.memory_checked_up_to && answer.batch->batch_size > *answer.memory_checked_up_to &&
         !answer.batch->measured;
}

/// Times the largest batch size that ran: a size beyond is an answer, but nothing to recommend.
inline constexpr int kNear = 8;

inline bool is_near(const Answer& answer, int batch_size) {
  const int sampled = answer.sampled.empty() ? 0 : answer.sampled.back();
  return batch_size <= std::int64_t{kNear} * std::max(sampled, answer.memory_checked_up_to.value_or(0));
}

/// Part of the greatest throughput that is taken as enough: beyond it a larger batch buys little.
inline constexpr double kEnoughThroughput = 0.95;

/// A batch size predicted from operations that were timed at its shapes, beside what the fitted models say.
struct RefinedBatch {
  int batch_size = 0;
  Measured ms;                  ///< predicted, with its 95 % interval; nothing of that size was run
  Measured samples_per_second;  ///< likewise
  double measured_share = 1;    ///< of the time that changes: of operations that were timed; the rest is scaled
  int operations = 0;           ///< distinct ones
  int operations_measured = 0;  ///< of those, timed for this answer; the others were known
};

/// Whether another batch size pays.
enum class BatchVerdict : std::uint8_t {
  kUnknown,  ///< no model says
  kUnsure,   ///< the timing is unreliable: see is_timing_unreliable()
  kUnclear,  ///< by its interval, a larger batch may train faster or not
  kLarger,   ///< a larger batch trains faster
  kEnough    ///< a larger batch brings little
};

/// The one conclusion that each report, label and button draws. See prediction/batch_conclusion.h.
struct BatchConclusion {
  BatchVerdict verdict = BatchVerdict::kUnknown;
  /// With kLarger the size to use, with kEnough one of at most half the size that trains as fast. Absent where there is
  /// none, or none that fits and is near enough to what ran: nothing else is recommended.
  std::optional<BatchPrediction> better;
  /// A larger size that was looked at, and how many times the throughput it gives; absent where none is predicted.
  std::optional<BatchPrediction> larger;
  std::optional<Estimate> gain;
};

/// Answers to the first questions of a reader.
struct Outlook {
  Answer now;       ///< the profile's own batch size
  Answer fits;      ///< the largest batch size that fits into the device
  Answer enough;    ///< the smallest with kEnoughThroughput of the greatest throughput
  Answer balanced;  ///< the smallest with as many bytes of activations as of weights
  Answer twice;     ///< twice the profile's
  BatchConclusion conclusion;
  bool refitted = false;  ///< from a time model that is not the profile's: see Predictor::refitted
};

}  // namespace ridgeline::analysis
