// Options for traces of other profilers, and reading these for a person at a terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "app/traces/import_file.h"
#include "base/result.h"
#include "cli/exit_codes.h"

namespace ridgeline::cli {

using app::absolute_path;
using app::ImportedRank;
using app::looks_like_report;
using app::looks_like_trace;
using app::TraceOptions;

/// The group of options that commands have for traces only.
inline constexpr const char* kOfTraces = "Options for traces";

/// --step-boundary of commands that read traces.
CLI::Option* add_step_boundary_option(CLI::App& command, std::string& value);

/// Reads the trace; why that is not possible is written to stderr.
base::Result<analysis::RunInput, ExitCode> import_or_report(const TraceOptions& options);
base::Result<ImportedRank, ExitCode> import_rank_or_report(const TraceOptions& options);

}  // namespace ridgeline::cli
