// What the report for a terminal says of the device. Prints nothing for a profile without one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/profile.h"
#include "report/page.h"
#include "report/places.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// A kernel's name without its template arguments, its parameters and its return type.
std::string short_kernel(std::string_view name);

/// How busy the device is and what its allocator holds; what waits for what. Nothing without a device.
std::vector<Item> device_items(const analysis::Profile& profile);
std::vector<Item> wait_items(const analysis::Profile& profile);

/// Both of them.
void device_figures(Page& page, const analysis::Profile& profile);

/// The user lines with most time on the device, then the kernels with most time.
void device_tables(Page& page, const analysis::Profile& profile, const Places& places, const SourceLines& source);

}  // namespace ridgeline::report
