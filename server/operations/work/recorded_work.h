// The operations of a step whose recording knows their arguments, as a list of what the step computes.
#pragma once

#include "analysis/values/input.h"
#include "protocol/experiment.h"
#include "step/graph/graph.h"

namespace ridgeline::operations {

/// The operations of the graph in order, each at the outermost level at which its work is known
/// (work_of); of those without such a level the innermost operators, without a key. Nodes of autograd and
/// operators that only call others are no operations. Phases and modules are not set. Pure.
protocol::CapturedStep recorded_operations(const step::Graph& graph, const analysis::RecordedKeys& keys);

}  // namespace ridgeline::operations
