// GPUs as their vendors describe them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "hardware/device.h"

namespace ridgeline::hardware {

/// Peaks without sparsity, at boost clock. Sources stand beside the figures.
const std::vector<Device>& data_sheets();

/// The one whose name is the longest that occurs in `name`, such as what a driver reports ("NVIDIA H100 80GB HBM3"),
/// whatever the case; nothing where none does.
std::optional<Device> find_data_sheet(std::string_view name);

}  // namespace ridgeline::hardware
