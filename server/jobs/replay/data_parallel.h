// A rank of data-parallel training, from the graph of one process alone.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "jobs/replay/job_graph.h"
#include "step/graph/graph.h"

namespace ridgeline::jobs {

/// When backward is over with it, a gradient is there.
struct Gradient {
  step::TaskId ready = 0;
  std::uint64_t bytes = 0;
};

/// Defaults of DistributedDataParallel.
struct BucketRule {
  std::uint64_t first_bytes = 1024ULL * 1024;
  std::uint64_t cap_bytes = 25ULL * 1024 * 1024;
};

/// How many gradients each bucket has. DistributedDataParallel fills buckets with gradients of one type in the order in
/// which the first iteration had them ready, and closes one when it has at least as many bytes as the rule says.
std::vector<std::size_t> bucket_sizes(const std::vector<std::uint64_t>& gradient_bytes, const BucketRule& rule);

/// The graph with an all-reduce for each bucket, which begins when all gradients of it are there and those of the
/// buckets before have ended; `waits`, where the script goes on with the gradients, begins after the last. Gradients
/// are in the order in which they are ready. Not in it: copies to and from buckets, and what communication takes of the
/// device or the cores that compute. Fails for tasks that the graph does not have, and without gradients.
base::Result<EqualRanks> data_parallel(step::Graph graph, std::vector<int> ranks,
                                       const std::vector<Gradient>& gradients, step::TaskId waits,
                                       const BucketRule& rule);

}  // namespace ridgeline::jobs
