// Launches whose kernels a recording does not have.
#pragma once

#include <algorithm>
#include <cstddef>

#include "protocol/recording.h"

namespace ridgeline::analysis {

struct Launches {
  std::size_t count = 0;
  std::size_t without_kernel = 0;  ///< no kernel of the recording is known to be theirs
  std::size_t graphs = 0;          ///< of CUDA graphs, which are not in `count`
  std::size_t graphs_without = 0;  ///< those of which the recording has nothing that the device did

  /// The larger of the lost shares of kernel launches and of graph launches: a graph stands for many kernels.
  double lost_share() const { return std::max(share(without_kernel, count), share(graphs_without, graphs)); }

 private:
  static double share(std::size_t part, std::size_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  }
};

/// Calls that launch a kernel during the iterations that `build_timeline` uses. A launch inside another one is part of
/// it. Graphs are counted apart: their kernels may be recorded as one. Not counted: launches that a graph captures,
/// which run later; and launches of functions of the host. Kernels whose call is not known may belong to any launch.
Launches count_launches(const recording::Recording& recording);

}  // namespace ridgeline::analysis
