// A trace from another profiler, as its user names it, and what is read of it. Waits for the file: for the command line
// only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/input.h"
#include "analysis/values/traced_rank.h"
#include "app/profiling/use_case_failure.h"
#include "ingest/recorded_step.h"

namespace ridgeline::app {

struct TraceOptions {
  std::string trace;
  std::string project_root{};  ///< empty: found
  int batch_size = 0;          ///< 0: unknown
  std::optional<std::uint32_t> process{};
  std::vector<std::string> code{};
  bool with_shapes = false;     ///< read, where the trace has them
  bool all_steps = false;       ///< ingest::ImportOptions::all_steps
  std::string step_boundary{};  ///< as `--step-boundary` has it; empty: found
};

/// Without links where they can be followed, and without a '/' at its end.
std::string absolute_path(const std::string& path);

Answer<analysis::RunInput> import_trace(const TraceOptions& options);

/// A trace of one of the ranks of a job.
struct ImportedRank {
  analysis::TracedRank traced;
  analysis::RunInput input;
};

Answer<ImportedRank> import_rank(const TraceOptions& options);

/// What the trace's steps ran on its GPU.
Answer<ingest::RecordedStep> recorded_step(const TraceOptions& options);

/// Whether the file begins as traces do: JSON, gzip or SQLite. No entry point does.
bool looks_like_trace(const std::string& path);

/// Whether the file begins as a memory snapshot does: as a pickle. Nothing is read of a pipe.
bool looks_like_snapshot(const std::string& path);

/// Whether a file that looks like a trace is a report of Ridgeline's in JSON.
bool looks_like_report(const std::string& path);

}  // namespace ridgeline::app
