// Checks imported times against the data sheet of the device.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "operations/device/device.h"
#include "operations/table/operation_table.h"

namespace ridgeline::operations {

/// The data sheet of a GPU by the name that a driver reports; null where there is none.
const Device* gpu_sheet(const std::string& name);

/// Finds mistakes in units: times in milliseconds that are read as microseconds are shorter than the device allows.
/// Give check() every row first, then call check_all().
class PlausibilityCheck {
 public:
  /// An error where no run of the operation on the device takes so little.
  base::Result<void> check(const ListedTime& row);
  /// An error where the rows take, in the median, hundreds of times as long as they need.
  base::Result<void> check_all() const;

 private:
  std::vector<double> ratios_to_least_;
};

}  // namespace ridgeline::operations
