// A model split into the stages of a pipeline, with what each takes of one process's step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "protocol/experiment.h"
#include "step/graph/graph.h"
#include "step/simulate/simulate.h"

namespace ridgeline::jobs {

/// What one module of the chain takes, with what is around it: in forward until the next module begins, in backward
/// until that of the one before begins. Nanoseconds.
struct ChainPart {
  double forward_ns = 0;
  double backward_ns = 0;
  std::uint64_t weight_bytes = 0;  ///< that have gradients
};

/// A step as one process runs it. The times add up to it.
struct StepParts {
  double before_ns = 0;  ///< until forward begins
  std::vector<ChainPart> chain{};
  double optimizer_ns = 0;  ///< behind backward
};

/// By the tasks of the host, or of a device. `schedule` is of the graph; `chain` in the order of forward. What is after
/// the last module, such as the loss, is in it. An error where forward or backward is not in the graph. Pure.
base::Result<StepParts> parts_of_step(const step::Graph& graph, const step::Schedule& schedule, bool on_host,
                                      const protocol::Replica& replica);

/// Modules `first` to `last` of the chain.
struct PipelineStage {
  std::size_t first = 0;
  std::size_t last = 0;
  double forward_ns = 0;
  double backward_ns = 0;
  std::uint64_t weight_bytes = 0;
  std::uint64_t output_bytes = 0;  ///< that it sends to the next stage, and gets the gradient of; 0 of the last
};

/// The split, where the modules may be split, whose slowest stage is fastest. An error when there are fewer places
/// to split at. Pure; quadratic in the modules of the chain.
base::Result<std::vector<PipelineStage>> balanced_stages(const StepParts& step,
                                                         const std::vector<protocol::ChainModule>& chain,
                                                         std::size_t count);

}  // namespace ridgeline::jobs
