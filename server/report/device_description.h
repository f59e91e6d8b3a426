// A device's peaks and memory levels for people. Pure.
#pragma once

#include <string>

#include "operations/device/device.h"

namespace ridgeline::report {

/// Several lines. A figure that was not measured says where it comes from.
std::string text_device(const operations::Device& device);

}  // namespace ridgeline::report
