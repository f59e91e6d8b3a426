// The graph of one process's step as a rank of DistributedDataParallel runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "jobs/replay/data_parallel.h"
#include "step/graph/graph.h"

namespace ridgeline::jobs {

/// A collective: how long it is on its way, and what it takes of a core meanwhile.
struct Communication {
  double ns = 0;
  double processor_ns = 0;
  double tail_ns = 0;  ///< of `ns`, at its end: the next one is on its way already
};

struct DdpOptions {
  std::vector<std::size_t> bucket_gradients{};  ///< how many each bucket has; together all
  bool overlap = true;                          ///< false: all-reduces begin when backward is over
  double before_forward_ns = 0;                 ///< of the host
  double copies_ns = 0;                         ///< of the host, to buckets and back: half of it each
  bool shares_core = false;  ///< the processor's time of communication is taken from the thread of backward
  std::vector<Communication> broadcasts{};  ///< before forward, one after the other
  std::function<Communication(double bytes)> all_reduce;
};

struct DdpStep {
  step::Graph graph{};
  struct Bucket {
    std::size_t gradients = 0;
    std::uint64_t bytes = 0;
    step::TaskId ready = 0;  ///< of the step's graph: that has the last of its gradients ready
    step::TaskId task = 0;   ///< the all-reduce, without its tail
    std::int64_t tail_ns = 0;
  };
  std::vector<Bucket> buckets{};
  std::vector<step::TaskId> broadcasts{};
  step::TaskId backward_over = 0;  ///< the host's mark at its end
  step::TaskId reduced = 0;        ///< the host goes on: behind all all-reduces, but for a device's
};

/// Adds to the graph what DistributedDataParallel does in a step: the broadcasts of buffers, copies of gradients to
/// buckets and back, an all-reduce for each bucket, in order, when all of its gradients are there, and the wait at the
/// end of backward: of the host or, where `gradients` are of a device, of the device's kernels of the optimizer.
/// Gradients are in the order in which they are ready. `hosts`: by gradient, the host's task at whose end it was
/// accumulated. An error for tasks that the graph does not have, for buckets that do not have
/// all gradients, and without gradients.
base::Result<DdpStep> ddp_step(step::Graph graph, const std::vector<Gradient>& gradients,
                               const std::vector<step::TaskId>& hosts, const DdpOptions& options);

}  // namespace ridgeline::jobs
