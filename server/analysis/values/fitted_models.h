// Models of a step's time and memory against batch size, and what they were fitted to.
//
// Definitions: docs/dev/measurement/batch-sizes.md. Times are milliseconds, memory is bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/category.h"
#include "analysis/values/estimate.h"
#include "analysis/values/location.h"

namespace ridgeline::analysis {

/// Least squares line through (batch size, value).
struct Line {
  double slope = 0;
  double intercept = 0;
  double r2 = 0;
  double residual_sd = 0;  ///< with n - 2 degrees of freedom; 0 when n is 2
  double mean_x = 0;
  double sum_squares_x = 0;  ///< Σ (x - mean)²
  int count = 0;
  /// Half of the 95 % confidence interval of each coefficient; absent with two points, which leave nothing to judge by.
  std::optional<double> slope_half_width;
  std::optional<double> intercept_half_width;
};

/// Iterations that took far longer than the median. They are not left out: a median is robust against them.
struct Outliers {
  int count = 0;
  double worst = 0;  ///< the longest of them, as a multiple of the median; 0 without one
};

struct TimeSample {
  int batch_size = 0;
  Measured ms;
  int iterations = 0;
  int rounds = 1;       ///< in which they were timed, in turns with the other batch sizes
  double aa_noise = 0;  ///< |difference| of the medians of every other round and of the rest, as a part of the median
  Outliers outliers{};
};

/// From this batch size on something works differently, judging by the recordings: a step in the iteration time that
/// samples on one side of it do not show.
struct Regime {
  int from_batch = 1;
  double ms = 0;  ///< the most that it may change there; in proportion to the batch beyond
};

/// Iteration time against batch size: a line or, where the samples bend, pieces that meet at sampled sizes.
struct TimeModel {
  std::vector<Piece> pieces;  ///< ms; the first begins at 1, each other one at a sampled batch size
  double r2 = 0;
  double relative_sd = 0;  ///< of one observation about the model, as a part of its value
  int degrees = 0;         ///< of freedom behind relative_sd
  double t95 = 0;          ///< two-sided 95 % quantile of Student's t with that many degrees
  int samples = 0;
  std::vector<double> covariance;         ///< of the coefficients, as multiples of relative_sd²: see time_model.h
  std::vector<TimeSample> measured;       ///< what it was fitted to, by batch size
  std::vector<double> uncertainty_rates;  ///< below, between and above those: see uncertainty.h; empty with two samples
  std::vector<Regime> regimes;            ///< by from_batch: see regimes.h
};

struct MemorySample {
  int batch_size = 0;
  std::uint64_t peak_bytes = 0;
};

/// What is alive at the peak, of one category and line: bytes as a Piece has them.
struct PeakPart {
  Category category = Category::kTemporaries;
  Location location;  ///< without a file: no user line owns it
  double slope = 0;
  double intercept = 0;
  double square = 0;
  double cube = 0;
};

/// Allocations of one operation and line whose size is not linear in the batch size.
struct NotLinear {
  std::string operation;             ///< empty: allocated outside operations
  Location location;                 ///< of the user's innermost line, when there was one
  std::vector<std::uint64_t> bytes;  ///< at each sampled batch size, ascending; all its allocations together
};

/// The batch size that divides evenly among so many backward passes, and whose parts are as large as the largest part
/// of this one. Both at least 1.
inline int rounded_up(int batch_size, int parts_of_batch) {
  return parts_of_batch * ((batch_size + parts_of_batch - 1) / parts_of_batch);
}

/// The peak of memory at any batch size. See peak_model.h.
struct PeakModel {
  std::vector<Piece> value;  ///< by from_batch; the first begins at 1
  std::vector<Piece> low;    ///< empty, as is `high`: the same as `value`
  std::vector<Piece> high;
  std::vector<std::vector<PeakPart>> parts;  ///< of each piece of `value`; they sum to it
  bool checked = false;                      ///< three batch sizes or more: how sizes grow was seen, not assumed
  /// The backward passes among which the batch may be divided, the larger parts first, as Tensor.chunk does: the peak
  /// of a batch size that is no multiple is that of the next one. 1: it is not divided.
  int parts_of_batch = 1;
  int allocations = 0;                        ///< matched, in one iteration; with what was alive when it began
  int not_linear = 0;                         ///< of those
  std::vector<NotLinear> largest_not_linear;  ///< that vary most first, at most 8
};

/// A device's caching allocator, and what it can have of the device.
struct AllocatorSetup {
  std::string conf;  ///< how it was set up, as PYTORCH_ALLOC_CONF
  std::uint64_t device_bytes = 0;
  std::uint64_t available_bytes = 0;  ///< of those: without what the context, libraries and other processes hold
};

/// A block that a step requests: bytes at each sampled batch size.
struct BlockRequest {
  std::vector<std::uint64_t> bytes;
  std::uint16_t stream = 0;
};

/// A block is requested (the index of its request) or freed (~index).
using AllocatorEvents = std::vector<std::int32_t>;
inline constexpr std::size_t kMaxAllocatorEvents = 50'000;  ///< that a model has, each of its two lists

/// The requests that a step makes of a device's caching allocator. See allocator_model.h.
struct AllocatorModel {
  std::vector<int> sizes;  ///< that were sampled, ascending; two or more
  std::vector<BlockRequest> requests;
  /// From the start of the process to the end of the first iteration.
  AllocatorEvents first;
  /// A later iteration. The first `alive` requests are those whose blocks are there when it begins.
  AllocatorEvents later;
  std::size_t alive = 0;
  int parts_of_batch = 1;  ///< as PeakModel has them
  AllocatorSetup setup;
  std::optional<int> largest;  ///< batch size that fits into the device; absent: not even 1
  bool is_bounded = true;      ///< false: no batch size was found that does not fit
};

}  // namespace ridgeline::analysis
