// A training step on devices that it did not run on, compared: for a terminal or as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimate/device_prediction.h"

namespace ridgeline::report {

struct OtherDevice {
  std::string name;
  std::string origin;                         ///< of its description: "data sheet", or a file's name
  std::optional<double> price_per_hour;       ///< in the user's currency
  std::vector<estimate::StepOnDevice> steps;  ///< by batch size, ascending; at least one
};

struct OtherDevices {
  std::string entry;
  int batch_size = 0;                        ///< of the entry point itself, which is that of one of the steps
  std::optional<std::int64_t> dataset_size;  ///< samples of an epoch
  std::vector<OtherDevice> devices;
};

/// The steps of the batch size asked about; by least cost per sample where all devices have a price, else by least
/// time; those of which only bounds are known last.
void sort_devices(OtherDevices& devices);

/// Ends with a newline.
std::string text_other_devices(const OtherDevices& devices);
/// As protocol/devices.schema.json describes.
std::string json_other_devices(const OtherDevices& devices);

}  // namespace ridgeline::report
