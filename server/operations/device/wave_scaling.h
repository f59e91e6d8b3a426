// The time of a kernel on another GPU that runs the same kernel: Yu et al., "Habitat" (USENIX ATC 2021), section 3.3.
#pragma once

#include <optional>

#include "operations/device/device.h"
#include "operations/device/operation_work.h"

namespace ridgeline::operations {

/// Wave scaling of a kernel of many waves (equation 2): by the ratio of the bandwidths to the power of gamma, and those
/// of the units and the clocks to 1 - gamma, where gamma follows from the operation's arithmetic intensity and the
/// target's ridge point (section 4.2). A wave is taken to be as large as there are units, since the occupancy is not
/// known. Nothing where a description lacks a figure.
std::optional<double> wave_scaled_ns(const OperationWork& work, const Device& from, const Device& to, double ns);

}  // namespace ridgeline::operations
