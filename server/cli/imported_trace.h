// A trace from another profiler, for the commands that are given one.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/input.h"
#include "analysis/values/traced_rank.h"
#include "base/result.h"
#include "cli/exit_codes.h"
#include "ingest/recorded_step.h"

namespace ridgeline::cli {

struct TraceOptions {
  std::string trace;
  std::string project_root;  ///< empty: found
  int batch_size = 0;        ///< 0: unknown
  std::optional<std::uint32_t> process;
  std::vector<std::string> code;
  bool with_shapes = false;     ///< read, where the trace has them
  bool all_steps = false;       ///< ingest::ImportOptions::all_steps
  std::string step_boundary{};  ///< the value of --step-boundary; empty: found
};

/// The group of options that commands have for traces only.
inline constexpr const char* kOfTraces = "Options for traces";

/// --step-boundary of commands that read traces.
CLI::Option* add_step_boundary_option(CLI::App& command, std::string& value);

/// Without links where they can be followed, and without a '/' at its end.
std::string absolute_path(const std::string& path);

/// Reads the trace; why that is not possible is written to stderr.
base::Result<analysis::RunInput, ExitCode> import_or_report(const TraceOptions& options);

/// A trace of one of the ranks of a job.
struct ImportedRank {
  analysis::TracedRank traced;
  analysis::RunInput input;
};

/// As import_or_report() does.
base::Result<ImportedRank, ExitCode> import_rank_or_report(const TraceOptions& options);

/// What the trace's steps ran on its GPU; reports errors as import_or_report() does.
base::Result<ingest::RecordedStep, ExitCode> recorded_step_or_report(const TraceOptions& options);

/// Whether the file begins as traces do: JSON, gzip or SQLite. No entry point does.
bool looks_like_trace(const std::string& path);

/// Whether a file that looks like a trace is a report of Ridgeline's in JSON.
bool looks_like_report(const std::string& path);

}  // namespace ridgeline::cli
