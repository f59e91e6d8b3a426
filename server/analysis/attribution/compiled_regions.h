// Code that torch.compile made, as a recording shows it.
#pragma once

#include <string_view>

#include "protocol/recording.h"

namespace ridgeline::analysis {

/// Whether an operation is what torch.compile puts around a graph that it compiled.
bool is_compiled_region(std::string_view operation);

/// Whether any operation of the recording is.
bool has_compiled_regions(const recording::Recording& recording);

}  // namespace ridgeline::analysis
