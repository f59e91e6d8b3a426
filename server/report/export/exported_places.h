// Where an operation belongs in the user's code, as the viewers of other profilers show it.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/attribution/call_tree.h"
#include "analysis/values/input.h"
#include "analysis/values/profile.h"

namespace ridgeline::report {

/// "model.py:12"; empty for no line.
std::string line_text(analysis::LineId line, const analysis::CallTree& tree, const analysis::RecordedRun& recorded);

/// "layer1.0.conv2 (Conv2d)"; empty for no module.
std::string module_text(std::uint32_t instance, const analysis::RecordedRun& recorded);

}  // namespace ridgeline::report
