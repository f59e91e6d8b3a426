// What makes a batch size fit, for a terminal or as JSON.
#pragma once

#include <string>

#include "analysis/values/what_if.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// A table: the predicted peak of each change, and what it costs in time. Everything from outside is made printable.
/// Ends with a newline.
std::string text_make_fit(const analysis::MakeFit& made, const TextOptions& options = {});

/// What protocol/make_fit.schema.json describes. Nothing is rounded. Ends with a newline.
std::string json_make_fit(const analysis::MakeFit& made);

}  // namespace ridgeline::report
