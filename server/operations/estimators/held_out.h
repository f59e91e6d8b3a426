// How well estimators do on times that they were not trained with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "operations/estimators/across_devices.h"
#include "operations/estimators/estimator.h"
#include "operations/table/operation_table.h"

namespace ridgeline::operations {

/// Splits the rows into those for training and those held out by a hash of the operation, so that the split is always
/// the same. `share`: the part of the rows for training that is kept.
std::pair<std::vector<ListedTime>, std::vector<ListedTime>> split_rows(std::span<const ListedTime> rows,
                                                                       double held_out, double share = 1);

struct HeldOutError {
  std::string operation;  ///< "aten::mm.default"; of a backward with what it computes
  int rows = 0;           ///< held out
  int refused = 0;        ///< of these: no estimate
  double mean = 0;        ///< relative error of the others
  double median = 0;
  double worst = 0;
  double within = 0;         ///< share that lies in its interval of 95 %
  double sample_spread = 0;  ///< (high - low) / time of the samples themselves, in the median
};

/// The same of a device, by models across devices.
struct DeviceError {
  std::string device;
  bool trained = false;  ///< with other operations of the device
  HeldOutError error{};
  std::optional<double> roofline{};  ///< mean error of the plain roofline on the rows that were not refused
  std::optional<double> scaled{};    ///< of wave scaling from another device, on those of them that it has
};

/// By operator, in order of names.
std::vector<HeldOutError> held_out_errors(const Estimators& estimators, std::span<const ListedTime> held_out);

/// By operator. `others`: times to scale from, each device's in order of keys, the best to scale from first.
std::vector<DeviceError> errors_across_devices(const Estimators& estimators, const DeviceTimes& held_out,
                                               std::span<const DeviceTimes> others);

}  // namespace ridgeline::operations
