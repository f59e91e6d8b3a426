// The description of a device as JSON: what `ridgeline machine measure` measured, or what a user wrote from a data
// sheet.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "operations/device/device.h"

namespace ridgeline::operations {

inline constexpr std::size_t kMaxDeviceFileBytes = std::size_t{1} << 20U;

/// Untrusted. `name`: of the file, for errors: "NAME: levels[1].bytesPerS.all: what is wrong and what to do".
/// Figures without a source are taken from a data sheet.
base::Result<Device> parse_device(std::string_view json, const std::string& name);

/// What parse_device reads; indented, with a newline at the end.
std::string device_json(const Device& device);

/// "measured", "system", "data sheet".
std::string_view source_name(FigureSource source);

}  // namespace ridgeline::operations
