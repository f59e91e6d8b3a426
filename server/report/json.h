// The JSON report: what protocol/report.schema.json describes, field by field.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "analysis/profile.h"

namespace ridgeline::report {

/// Nothing is rounded, so that sums which close in the profile still close in the report. A double that is not finite
/// becomes null, which the schema rejects where a figure is required: analysis must not make one. Strings are copied as
/// they are; dump with `error_handler_t::replace`, they may hold invalid UTF-8.
nlohmann::ordered_json to_json(const analysis::Profile& profile);

/// The report as indented text, in valid UTF-8, with a newline at its end.
std::string json_report(const analysis::Profile& profile);

}  // namespace ridgeline::report
