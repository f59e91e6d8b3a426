// Which operations of a step are not known for a device, and how long measuring them there would take.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "operations/table/operation_table.h"

namespace ridgeline::operations {

struct MeasuringPlan {
  std::string device;
  std::vector<std::string> known{};    ///< keys with tensors where the device has them
  std::vector<std::string> missing{};  ///< the same of operations without a time in the table
  /// Seconds that measuring `missing` takes at least: each alone at its roofline, with the fewest samples. Operations
  /// whose work is not modelled, and devices without a data sheet, count with the shortest time of a sample.
  double least_s = 0;
  bool has_data_sheet = false;
  int not_modelled = 0;  ///< of `missing`
  int kept_here = 0;     ///< that say more than shapes (shapes_only.h): neither `known` nor `missing`
};

/// `device`: as the table names it, or a part of it that find_data_sheet() knows.
base::Result<MeasuringPlan> plan_measuring(OperationTable& table, const std::string& device,
                                           std::span<const std::string> keys);

}  // namespace ridgeline::operations
