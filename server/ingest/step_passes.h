// Steps by what training does in each: the optimizer, the data loader, the backward pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ingest/found_steps.h"
#include "ingest/trace.h"

namespace ridgeline::ingest {

/// What training did, by start: as many steps at most as there are marks of one kind.
struct TrainingMarks {
  std::vector<std::uint32_t> optimizers;  ///< torch's ranges around their steps, of those outside of backward passes
  std::vector<std::uint32_t> zero_grads;  ///< likewise, around zero_grad(): where no step is seen
  std::vector<std::uint32_t> loaders;     ///< likewise, around the loading of a batch
  struct Pass {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t nodes;
  };
  std::vector<Pass> backward{};
  std::optional<std::uint32_t> forward_thread{};    ///< with most forward operations
  std::vector<std::uint64_t> forward_operations{};  ///< when they began: those outside of backward passes
};

TrainingMarks training_marks(const Trace& trace, const StepEvents& events);

/// From the end of one step of the optimizers to the end of the next, or, where steps have no ranges, from the start of
/// one zero_grad() to the start of the next. Several that take turns have one step together, unless `each` ends one.
/// Nothing with fewer than two, or where no order is seen in different ones.
std::optional<FoundSteps> steps_of_optimizers(const Trace& trace, const StepEvents& events, const TrainingMarks& marks,
                                              bool each = false);

/// From the start of one batch to the start of the next.
std::optional<FoundSteps> steps_of_loaders(const Trace& trace, const StepEvents& events, const TrainingMarks& marks);

/// From the first forward operation after a backward pass to that after the next.
std::optional<FoundSteps> steps_of_backward(const TrainingMarks& marks);

}  // namespace ridgeline::ingest
