// The ratio of two times, each measured in some runs, and what is to be said of it. Pure.
#pragma once

#include <optional>
#include <span>

#include "analysis/compare/comparison.h"

namespace ridgeline::analysis {

/// What two runs of the same code on the same idle machine differ by, at least: one standard deviation of one run, as a
/// fraction. What a single run does not show of its own noise.
inline constexpr double kRunToRun = 0.01;

/// A run whose step is less certain than this, as on a busy machine, is not taken for what another run would show.
inline constexpr double kMostError = 0.03;
/// What such runs of the same code differ by, one standard deviation as a fraction:
/// docs/dev/measurement/comparisons.md.
inline constexpr double kNoisyRunToRun = 0.2;

/// A time as one run measured it.
struct ObservedRun {
  double ms = 0;  ///< above 0
  /// Standard error within the run, kNoisyRunToRun at least where that is above kMostError; absent: unknown.
  std::optional<double> relative_error{};
};

/// The change from `before` to `after`, with its confidence interval of level 1 - `alpha`. Both have a run.
///
/// `in_turns`: the runs alternated, and as many of each. From two pairs on, the interval is Student's t of the pairs'
/// log ratios: what slows the machine down for a while hits both of a pair. Otherwise the variance of each side is the
/// largest of what its runs show between them (three or more), what they show within, and kRunToRun²; over its runs.
/// The interval is normal, or Student's t with the degrees of freedom of the fewest runs that showed it. It is absent
/// where one run is all there is and its own error is unknown, and where it leaves a factor of ten open to either side.
TimeChange time_change(std::span<const ObservedRun> before, std::span<const ObservedRun> after, bool in_turns,
                       double alpha, double margin);

struct MeanTime {
  double ms = 0;
  std::optional<Bounds> bounds{};  ///< ms; absent as in time_change()
};
/// The mean of runs that did not alternate with others; its interval is that of either side of time_change().
MeanTime mean_time(std::span<const ObservedRun> runs, double alpha);

/// Compares the bytes of each run. A difference below `negligible` bytes counts as none.
MemoryChange memory_change(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after,
                           std::uint64_t negligible, double margin);

}  // namespace ridgeline::analysis
