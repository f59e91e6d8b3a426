// A trace of another profiler, read from its file. Waits for it: for the command line only.
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "ingest/byte_source.h"
#include "ingest/nsys_report.h"
#include "ingest/trace.h"

namespace ridgeline::app {

/// The bytes of a file that is open, behind `first`, which was read of it already. It may be a pipe. Throws
/// ImportError, which calls it `name`, where they cannot be read to the end.
ingest::ByteSource bytes_of(const std::shared_ptr<std::ifstream>& file, std::string first, const std::string& name);

/// Reads a trace of torch.profiler or an exported report of Nsight Systems, going by the file's first bytes.
/// `nsys`: of a report. `inputs`: also read the arguments of operations. Throws ImportError, with the reason that
/// the user is told.
ingest::Trace read_trace_file(const std::string& path, const ingest::NsysOptions& nsys = {}, bool inputs = false);

}  // namespace ridgeline::app
