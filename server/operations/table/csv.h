// Comma-separated values as RFC 4180 has them, line by line: a field in double quotes may hold commas and doubled
// quotes; no field holds a line break.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridgeline::operations {

/// Untrusted. The fields of one line without its end; an error where a quote is not closed or misplaced.
base::Result<std::vector<std::string>> csv_fields(std::string_view line);

/// Takes the next line off `text`, without "\n" or "\r\n".
std::string_view take_line(std::string_view& text);

}  // namespace ridgeline::operations
