// Reads back a JSON report.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/profile.h"

namespace ridgeline::report {

/// The profile of a report of json_report(), but for the time and memory models that are fitted to its samples: those
/// analysis::fit_models() fits again. Strict: a field that is missing, of another type or out of range makes it
/// nothing, and `error` says which. Never throws.
std::optional<analysis::Profile> read_report(std::string_view json, std::string& error);

}  // namespace ridgeline::report
