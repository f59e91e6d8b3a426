// A trace of another profiler, read from its file. Waits for it: for the command line only.
#pragma once

#include <string>

#include "ingest/nsys_report.h"
#include "ingest/trace.h"

namespace ridgeline::app {

/// Reads a trace of torch.profiler or an exported report of Nsight Systems, going by the file's first bytes.
/// `nsys`: of a report. `inputs`: also read the arguments of operations. Throws ImportError, with the reason that
/// the user is told.
ingest::Trace read_trace_file(const std::string& path, const ingest::NsysOptions& nsys = {}, bool inputs = false);

}  // namespace ridgeline::app
