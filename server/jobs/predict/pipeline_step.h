// The graph of a step in a pipeline of stages, each on a rank of its own.
//
// GPipe (Huang et al., NeurIPS 2019), section 2.3: all micro-batches forward, then all backward. PipeDream-Flush
// (Narayanan et al., ICML 2021), section 2.2, as torch.distributed.pipelining's Schedule1F1B: a stage begins with as
// many as there are stages behind it, then runs one forward and one backward in turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "step/graph/graph.h"

namespace ridgeline::jobs {

enum class PipelineOrder : std::uint8_t { kOneForwardOneBackward, kAllForwardFirst };

/// Nanoseconds, by micro-batch where nothing else is said.
struct StageTimes {
  double before_ns = 0;  ///< once
  double forward_ns = 0;
  double backward_ns = 0;
  double accumulate_ns = 0;  ///< of gradients, in backward of each micro-batch but the first
  double optimizer_ns = 0;   ///< once
  double transfer_ns = 0;    ///< of its output to the next stage; of the gradient back likewise
  double sending_ns = 0;     ///< of its own time, for each transfer to it or from it
  std::size_t machine = 0;   ///< stages on one share it
};

struct PipelineOptions {
  int micro_batches = 1;  ///< positive
  PipelineOrder order = PipelineOrder::kOneForwardOneBackward;
  double slow_down = 1;  ///< how many times as long all takes while every rank of a machine computes
  /// Nothing is sent before the receiver asks for it, which it does when it has nothing else to do, as Gloo may have it
  /// (gloo/transport/tcp/pair.cc, sends of unbound buffers).
  bool receiver_asks = false;
};

/// Times are those of a rank that has its machine for itself; where other ranks of the machine wait, a rank is not
/// slowed down by them. A transfer begins with the end of what it sends; transfers of one direction between two stages
/// go one after the other, and beside what the ranks compute. Pure.
step::Graph pipeline_step(const std::vector<StageTimes>& stages, const PipelineOptions& options);

}  // namespace ridgeline::jobs
