// Steps of several copies of one process at once, as the ranks of a machine run them.
#pragma once

#include <optional>

#include "protocol/experiment.h"

namespace ridgeline::jobs {

/// The step of the slowest rank over that of a process alone.
struct SlowDown {
  double middle = 1;
  double low = 1;
  double high = 1;  ///< also of the slowest of all ranks, as far as the steps spread here
};

/// Each rank waits for the others once an iteration, so the slowest step of those that ran at once counts. Absent where
/// no steps were timed. `ranks`: of the job.
std::optional<SlowDown> slow_down(const protocol::Replica& replica, double ranks);

}  // namespace ridgeline::jobs
