// GPUs as their vendors describe them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operations/device/device.h"

namespace ridgeline::operations {

/// Peaks without sparsity, at boost clock; documents in data_sheet_table.h. What two documents do not agree on is
/// absent. Memory is as it is sold, in 10^9 bytes: programs see from 2 % less to 8 % more.
const std::vector<Device>& data_sheets();

/// "P4, T4, ...": for messages.
std::string data_sheet_names();

/// Whether `name`, such as what a driver reports, is `device` or has the data sheet of that name.
bool names_device(std::string_view name, std::string_view device);

/// The one whose name is the longest that occurs in `name`, such as what a driver reports ("NVIDIA H100 80GB HBM3"),
/// whatever the case, hyphens or spaces. Nothing where none does, or where `name` says another capacity or another card
/// of the family ("RTX 3090 Ti", "H100 NVL", a laptop's). "MI250X/MI250", which ROCm reports of both, is the former.
std::optional<Device> find_data_sheet(std::string_view name);

}  // namespace ridgeline::operations
