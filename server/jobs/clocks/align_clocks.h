// The clocks of the machines of a job, aligned to that of machine 0.
//
// After dPRO (Hu et al., MLSys 2022), section 4.2: offsets that keep every happens-before, of ranks on one machine the
// same. Its objective, the variance of clipped receives, is not convex in the offsets; this one is linear and asks for
// the same: of each pair of machines the quickest message takes about as long in both directions. It adds drift.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "jobs/clocks/happens_before.h"

namespace ridgeline::jobs {

/// A drift is told where it is known within this many parts per million. Clocks of machines drift by 10 to 50.
inline constexpr double kMostUnsurePpm = 20;

/// Nanoseconds to add to a machine's clock. Bounds are exact to a few nanoseconds, as times are rounded and the solver
/// perturbs its gain.
struct OffsetRange {
  double estimate = 0;
  double lowest = 0;   ///< no happens-before allows less
  double highest = 0;  ///< none allows more
};

/// What is to be added to the clock of a machine is linear in its time, from `begin_ns` to `end_ns` by itself. The
/// ranges are those of all linear offsets that the job allows; between the two times the range is inside the straight
/// lines between theirs.
struct ClockOffset {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t base_ns = 0;  ///< part of the offset; the ranges are the rest
  OffsetRange at_begin{};
  OffsetRange at_end{};
  bool drift_known = true;  ///< otherwise it may differ from drift_ppm() by more than kMostUnsurePpm

  /// How much slower than that of machine 0 the clock runs. Nothing where the record is too short to tell.
  std::optional<double> drift_ppm() const;
  OffsetRange range_at(std::int64_t local_ns) const;  ///< besides base_ns
  std::int64_t aligned(std::int64_t local_ns) const;  ///< the time by the clock of machine 0
  void widen(const ClockOffset& by);                  ///< as it was aligned to another clock, whose ranges are those
};

/// By machine: by when collectives on devices end, where these connect all machines (align_by_ends.h), else so that no
/// order is violated by aligned times. The latter fails when no offsets and drifts of at most 1,000 ppm allow what was
/// recorded, as when a clock was set meanwhile; and when a machine's offset has no bound, as nothing went to or came
/// from it. More than 16 machines are aligned one by one, each to one that it exchanged something with, by the orders
/// between these two: those between others may then be violated within the ranges.
base::Result<std::vector<ClockOffset>> align_clocks(const HappensBefore& recorded);

}  // namespace ridgeline::jobs
