// From a run to a profile: the entry point of the analysis.
#pragma once

#include "analysis/values/input.h"
#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// Pure: no clock, no files. `input.runs` must hold the user's batch size, and every run at least one bare time.
Profile build_profile(const RunInput& input);

}  // namespace ridgeline::analysis
