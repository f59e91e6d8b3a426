// Backward of a report without ranges of PyTorch's operations.
#pragma once

#include <cstdint>

#include "ingest/trace.h"

namespace ridgeline::ingest {

/// Autograd runs on a thread of its own, which launches kernels outside of all ranges while the step's thread launches
/// none. Adds an operation, "backward", around each such run of launches, unless operations of autograd were recorded.
/// The events of the trace are of one process; `main` is the thread of the steps.
void add_backward(Trace& trace, std::uint32_t main);

}  // namespace ridgeline::ingest
