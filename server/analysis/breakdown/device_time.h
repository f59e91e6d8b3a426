// The device's part of a profile.
#pragma once

#include "analysis/breakdown/breakdown.h"
#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// Needs `input.device`. kernel_ms + copy_ms + idle_ms = the sum of the waits = `iteration_ms`.
DeviceTime device_time(const BreakdownInput& input, double iteration_ms);

}  // namespace ridgeline::analysis
