// Launches whose kernels a recording does not have.
#pragma once

#include <cstddef>

#include "protocol/recording.h"

namespace ridgeline::analysis {

struct Launches {
  std::size_t count = 0;
  std::size_t without_kernel = 0;  ///< no kernel of the recording is known to be theirs

  double lost_share() const { return count > 0 ? static_cast<double>(without_kernel) / static_cast<double>(count) : 0; }
};

/// Calls that launch a kernel during the iterations that `build_timeline` uses. A launch inside another one is part of
/// it. Not counted: graphs, whose kernels may be recorded as one; launches that a graph captures, which run later; and
/// launches of functions of the host. Kernels whose call is not known may belong to any launch.
Launches count_launches(const recording::Recording& recording);

}  // namespace ridgeline::analysis
