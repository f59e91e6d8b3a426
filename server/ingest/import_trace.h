// A trace of torch.profiler becomes what the analysis works on.
#pragma once

#include <string>
#include <vector>

#include "analysis/values/input.h"
#include "ingest/recorded_step.h"
#include "ingest/step_boundary.h"
#include "ingest/trace.h"
#include "ingest/trace_files.h"

namespace ridgeline::ingest {

struct ImportOptions {
  std::string trace_path;           ///< absolute
  std::string project_root;         ///< absolute; empty: see TraceFiles
  std::string current;              ///< absolute: the root, where the trace's files are below it
  TraceFiles::Exists exists{};      ///< whether a path is a file of this machine
  int batch_size = 0;               ///< 0: unknown
  std::vector<std::string> code{};  ///< packages whose lines have figures, too, as they are imported
  bool all_steps = false;           ///< also those that are far from the one in the middle
  StepBoundary boundary{};          ///< of a trace of torch.profiler
};

/// One run whose bare times are the recorded ones. The warnings say what the trace does not contain, and what of it
/// could not be used. Of a trace whose inputs were read, with RunInput::recorded_keys. Throws ImportError where there
/// is nothing to analyse.
analysis::RunInput import_trace(Trace trace, const ImportOptions& options);

/// What the steps of the trace ran on its GPU, by operation. Of a trace whose inputs were read. Throws ImportError
/// where the trace has no steps to analyse, no kernels or no shapes.
RecordedStep recorded_step(Trace trace, const ImportOptions& options);

}  // namespace ridgeline::ingest
