// The bucket size and gradient accumulation with which data-parallel training of equal ranks is fastest.
//
// dPRO (MLSys 2022), section 5: bounds that need no simulation prune the search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cluster/data_parallel.h"

namespace ridgeline::cluster {

struct Strategy {
  std::uint64_t bucket_bytes = 0;  ///< BucketRule::cap_bytes
  int accumulate = 1;              ///< micro-batches of the profiled size before the gradients are sent: no_sync()
};

struct StrategySpace {
  std::vector<std::uint64_t> bucket_bytes;
  std::vector<int> accumulate;  ///< positive; more than 1 trains with batches so many times as large
};

/// What the step of one process is, and who trains with it.
struct Training {
  graph::Graph graph;
  std::vector<Gradient> gradients;  ///< in the order in which they are ready
  graph::TaskId waits = 0;          ///< the optimizer's first task; nothing of the step before it may be after it
  std::vector<int> ranks;
};

struct BestStrategy {
  Strategy strategy{};
  double ns_per_batch = 0;      ///< predicted, of one micro-batch on each rank
  std::size_t simulations = 0;  ///< of jobs, in the search
  std::size_t strategies = 0;   ///< in the space
};

/// Of strategies that are equally fast, the first bucket size by its bound. Fails for an empty space, and as join() and
/// data_parallel() do. Memory does not limit it: none of the strategies changes the peak but by the buckets, which are
/// as large as the gradients in each.
base::Result<BestStrategy> best_strategy(const Training& training, const StrategySpace& space, const Network& network);

}  // namespace ridgeline::cluster
