// The linear layers of a step, found in the list of its operations, and the widths of them that padding is predicted to
// pay for.
#pragma once

#include <vector>

#include "analysis/values/step_work.h"
#include "operations/device/device.h"
#include "protocol/experiment.h"
#include "step/changes/unchanged_step.h"
#include "step/graph/graph.h"

namespace ridgeline::operations {

/// Most saved first. Only where best_padding was compared with what is tried: float32 on one or two threads
/// (`units`) of AMD's processors.
/// `places`: of `step` in `graph`. A width is taken to be one where a single size is the output of layers and the input
/// of others, so that all layers of a model that have the size are padded together. Pure.
std::vector<analysis::Padding> paddings_of(const step::Graph& graph, const protocol::CapturedStep& step,
                                           const step::Places& places, const Device& device, int units);

}  // namespace ridgeline::operations
