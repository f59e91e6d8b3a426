// The answer of `ridgeline what-if`, for a terminal or as JSON.
#pragma once

#include <string>

#include "analysis/values/what_if.h"
#include "report/text.h"

namespace ridgeline::report {

/// "1.42× faster", "no change", "1.10× slower".
std::string speed_up_text(double value);

/// A table of the changes: predicted beside tried, with the memory, and what each takes. Everything from outside is
/// made printable. Ends with a newline.
std::string text_what_if(const analysis::WhatIf& answer, const TextOptions& options = {});

/// What protocol/what_if.schema.json describes. Nothing is rounded. Ends with a newline.
std::string json_what_if(const analysis::WhatIf& answer);

}  // namespace ridgeline::report
