// The call tree of a step for speedscope (https://www.speedscope.app).
#pragma once

#include <string>

#include "analysis/values/input.h"
#include "analysis/values/profile.h"

namespace ridgeline::report {

/// Speedscope's file format, version 0.0.1: one profile for time, one for the memory at the peak and, where something
/// ran on a device, one for its time. A stack is the modules and the user's lines that answer for a part, as in the
/// report, and the operation; its weight is that of one iteration. The weights sum to the iteration time in
/// milliseconds, to the peak in bytes, and to the time in which the device works.
std::string speedscope_profile(const analysis::RecordedRun& recorded, const analysis::Profile& profile);

}  // namespace ridgeline::report
