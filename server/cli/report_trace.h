// The report of a trace that another profiler recorded.
#pragma once

#include "cli/imported_trace.h"
#include "cli/options.h"

namespace ridgeline::cli {

/// Analyses the trace, and prints the report. Runs nothing. The exit code.
int report_trace(const TraceOptions& options, const Output& output);

}  // namespace ridgeline::cli
