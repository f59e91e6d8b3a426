// Execution traces of MLCommons Chakra (https://github.com/mlcommons/chakra, et_def.proto, version 0.0.4).
#pragma once

#include <string_view>

#include "analysis/values/execution_trace.h"
#include "base/result.h"

namespace ridgeline::ingest {

/// The bytes of a file, untrusted: GlobalMetadata and then Nodes, each with its size in front. Fields and attributes
/// that have no place in ExecutionNode are left out. The error says what is wrong with the file. Pure.
base::Result<analysis::ExecutionTrace> read_execution_trace(std::string_view bytes, int rank);

}  // namespace ridgeline::ingest
