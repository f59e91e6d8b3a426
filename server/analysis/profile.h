// A profile: every figure that a user is shown, as one immutable value.
//
// Definitions: docs/measurement.md. Times are milliseconds of one iteration, after the cost of recording was taken out
// and the recorded total was scaled to the bare iteration time. Memory is bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::analysis {

/// Recomputation is forward work that runs again during backward: activation checkpointing.
enum class Phase : std::uint8_t { kForward, kBackward, kRecomputation, kOptimizer, kData, kOther };
inline constexpr std::size_t kPhaseCount = 6;
inline constexpr std::array<const char*, kPhaseCount> kPhaseNames = {"forward",   "backward", "recomputation",
                                                                     "optimizer", "data",     "other"};

enum class Category : std::uint8_t { kWeights, kGradients, kOptimizerState, kActivations, kInputs, kTemporaries };
inline constexpr std::size_t kCategoryCount = 6;
/// As the JSON report spells them.
inline constexpr std::array<const char*, kCategoryCount> kCategoryNames = {"weights",     "gradients", "optimizerState",
                                                                           "activations", "inputs",    "temporaries"};

using ByPhase = std::array<double, kPhaseCount>;
using ByCategory = std::array<std::uint64_t, kCategoryCount>;

/// A place in a source file. `file` is relative to the project root with '/', or absolute outside of it.
/// An empty file means that there is no such place.
struct Location {
  std::string file;
  std::uint32_t line = 0;
  bool operator==(const Location&) const = default;
};

/// The median with the 95 % confidence interval of order statistics.
struct Measured {
  double value = 0;
  double low = 0;
  double high = 0;
};

struct Environment {
  std::string python;
  std::string torch;
  std::string device;  ///< "cpu" or "cuda"
  std::string device_name;
  int threads = 0;
  std::string
      in_place_of;  ///< device that the code asked for and `device` stood in for; empty: it got what it asked for
};

struct IterationTime {
  Measured ms;
  int iterations = 0;  ///< timed, uninstrumented
  int warmup_iterations = 0;
  ByPhase by_phase{};  ///< sums to ms.value
};

struct LineCost {
  Location location;
  std::optional<std::uint64_t> calls;  ///< how often the line ran; absent when only the timer saw it
  double self_ms = 0;
  double total_ms = 0;
  ByPhase self_by_phase{};              ///< sums to self_ms
  std::uint64_t weights_bytes = 0;      ///< parameters and buffers that the line created
  std::uint64_t gradients_bytes = 0;    ///< gradients of those, at the peak
  std::uint64_t activations_bytes = 0;  ///< allocated by the line in forward and alive when forward ended
  std::uint64_t peak_bytes = 0;         ///< alive at the peak instant
};

/// Time and memory that no user line can own.
struct OtherCost {
  std::string name;
  double ms = 0;
  std::uint64_t peak_bytes = 0;
};

/// A node of the breakdown: the iteration, a module instance, or an operation.
struct Node {
  std::string name;              ///< "layer3", "conv2d", "optimizer"
  std::string type;              ///< class of a module, else empty
  Location location;             ///< the line that called it
  Location definition;           ///< where the module's class is defined
  std::uint64_t calls = 0;       ///< how often a module was called or an operation ran
  double ms = 0;                 ///< with everything inside
  ByPhase by_phase{};            ///< sums to ms
  std::uint64_t peak_bytes = 0;  ///< alive at the peak, with everything inside
  std::vector<Node> children;    ///< most time first; their sums are this node's
};

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

struct TimeSample {
  int batch_size = 0;
  Measured ms;
  int iterations = 0;
};

struct MemorySample {
  int batch_size = 0;
  std::uint64_t peak_bytes = 0;
};

/// The peak from one batch size on, up to the next piece: bytes = intercept + slope × batch size.
struct PeakPiece {
  int from_batch = 1;
  double slope = 0;
  double intercept = 0;
};

/// Allocations of one operation and line whose size is not linear in the batch size.
struct NotLinear {
  std::string operation;             ///< empty: allocated outside of operations
  Location location;                 ///< of the user's innermost line, when there was one
  std::vector<std::uint64_t> bytes;  ///< at each sampled batch size, ascending; all its allocations together
};

/// The peak of memory at any batch size. See peak_model.h.
struct PeakModel {
  std::vector<PeakPiece> value;  ///< by from_batch; the first begins at 1
  std::vector<PeakPiece> low;    ///< empty, as is `high`: the same as `value`
  std::vector<PeakPiece> high;
  bool checked = false;  ///< three batch sizes or more: that sizes are linear was seen, not assumed
  int allocations = 0;   ///< matched, in one iteration; with what was alive when it began
  int not_linear = 0;    ///< of those
  std::vector<NotLinear> largest_not_linear;  ///< that vary most first, at most 8
};

/// A batch size that was tried and did not run.
struct Skipped {
  int batch_size = 0;
  std::string kind;
  std::string message;
};

struct Profile {
  std::string id;            ///< under which it is kept; empty: it is not
  std::string entry_path;    ///< absolute, real
  std::string project_root;  ///< absolute, real
  int batch_size = 0;
  Environment environment;
  IterationTime iteration;
  double samples_per_second = 0;
  std::optional<double> max_samples_per_second;  ///< 1/slope; absent when time does not grow with the batch
  std::uint64_t peak_bytes = 0;
  std::uint64_t capacity_bytes = 0;
  ByCategory by_category{};              ///< sums to peak_bytes
  std::optional<Line> time_model;        ///< milliseconds
  std::optional<Line> memory_model;      ///< bytes
  std::optional<PeakModel> peak_model;   ///< absent: the step's allocations could not be matched
  std::vector<TimeSample> time_samples;  ///< by batch size
  std::vector<MemorySample> memory_samples;
  std::vector<Skipped> skipped;
  std::vector<LineCost> lines;  ///< most self time first
  std::vector<OtherCost> other;
  double scale = 1;               ///< bare iteration / recorded iteration after the cost was taken out
  double recording_overhead = 0;  ///< recorded iteration / bare iteration - 1
  double user_line_share = 0;     ///< part of the iteration that user lines own, 0 to 1
  int recorded_iterations = 0;
  std::vector<std::string> warnings;  ///< what a reader of the figures must know
  Node breakdown;
};

}  // namespace ridgeline::analysis
