// Reads back a JSON report.
#pragma once

#include <string_view>

#include "analysis/values/profile.h"
#include "base/result.h"

namespace ridgeline::report {

/// The profile of a report of json_report(), but for the time and memory models that are fitted to its samples: those
/// analysis::fit_models() fits again. Strict: a field that is missing, of another type or out of range is an
/// error that names the field. Never throws.
base::Result<analysis::Profile> read_report(std::string_view json);

}  // namespace ridgeline::report
