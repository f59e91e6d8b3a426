// protocol/report.schema.json.
#pragma once

#include <string>

namespace ridgeline::report {

/// The JSON Schema (2020-12) of the report, generated from the fields that are written and read, as indented text with
/// a newline at its end.
std::string report_schema();
/// The same for comparison_json(): protocol/comparison.schema.json.
std::string comparison_schema();

}  // namespace ridgeline::report
