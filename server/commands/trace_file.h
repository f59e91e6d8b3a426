// The file that `ridgeline import` is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "imports/trace.h"

namespace ridgeline::commands {

/// Reads a trace of torch.profiler or an exported report of Nsight Systems, going by the file's first bytes.
/// `process`: of a report. `inputs`: also read the arguments of operations. Throws ImportError, with the reason that
/// the user is told.
imports::Trace read_trace_file(const std::string& path, std::optional<std::uint32_t> process = {}, bool inputs = false);

}  // namespace ridgeline::commands
