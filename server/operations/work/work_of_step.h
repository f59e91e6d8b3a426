// What the operations of a step ask of the machine, and what they attain of it in the step.
#pragma once

#include <cstdint>

#include "analysis/values/step_work.h"
#include "operations/device/device.h"
#include "protocol/experiment.h"
#include "step/graph/graph.h"

namespace ridgeline::operations {

/// A description of the device that the step ran on. `units`: threads, or multiprocessors.
struct BoundsOf {
  const Device& device;
  int units = 1;
  bool measured = false;  ///< by micro-benchmarks; else the vendor's data sheet
  protocol::Tf32 tf32{};
};

/// `graph` is of an iteration that takes `iteration_ms`; `step` lists the operations of the same step. Without
/// `bounds`, FLOPs and bytes alone. The bound of an operation is roofline_bound, of float32 matrices on a
/// GPU by TensorFloat-32 where it has that and the step may use it.
analysis::StepWork step_work(const step::Graph& graph, const protocol::CapturedStep& step, double iteration_ms,
                             const BoundsOf* bounds);

}  // namespace ridgeline::operations
