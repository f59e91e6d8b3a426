// `ridgeline what-if TRACE`: changes of a step that another profiler recorded, predicted only.
#pragma once

#include <string>

#include "analysis/values/what_if.h"
#include "app/change_requests.h"
#include "cli/imported_trace.h"
#include "cli/options.h"

namespace ridgeline::cli {

/// In the format that `output` names.
std::string rendered_what_if(const analysis::WhatIf& answer, const Output& output);

/// Writes the answer out; changes in Python are run with `python`. The exit code.
int what_if_trace(const TraceOptions& trace, app::WantedChanges wanted, const std::string& python,
                  const Output& output);

}  // namespace ridgeline::cli
