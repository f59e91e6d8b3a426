// Times on a device, whatever the table calls it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "operations/table/operation_table.h"

namespace ridgeline::operations {

/// By key: a time on `device`, as the table names it or as find_data_sheet() does; also on a device that the table
/// calls something else and that has the same data sheet.
base::Result<std::vector<std::optional<ListedTime>>> times_on_device(OperationTable& table, const std::string& device,
                                                                     std::span<const std::string> keys);

}  // namespace ridgeline::operations
