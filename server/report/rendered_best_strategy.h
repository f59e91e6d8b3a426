// The answer of `ridgeline job optimize`, for a terminal or as JSON.
#pragma once

#include <string>

#include "analysis/values/best_strategy.h"

#include "report/warnings.h"

namespace ridgeline::report {

/// The best strategy with its interval, its memory and its edit, then the others. Everything from outside is made
/// printable. Ends with a newline.
std::string text_optimized_job(const analysis::OptimizedJob& job, ShownWarnings warnings = ShownWarnings::kFirst);

/// What protocol/optimize.schema.json describes. Nothing is rounded. Ends with a newline.
std::string json_optimized_job(const analysis::OptimizedJob& job);

}  // namespace ridgeline::report
