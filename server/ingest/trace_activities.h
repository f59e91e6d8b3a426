// Kernels and copies of a trace, and the calls that asked for them.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "ingest/columns_builder.h"
#include "ingest/host_sweep.h"
#include "ingest/trace.h"

namespace ridgeline::ingest {

/// External ids of the ops whose activities have no call in the trace.
std::unordered_set<std::uint64_t> externals_of_activities(const Trace& trace);

/// Writes the calls of `host`, by thread and time, and the activities, by time. An activity without a call gets one
/// that takes no time, at the start of its op, which is added to `host`.
void write_calls_and_activities(const Trace& trace, HostSweep& host, ColumnsBuilder& builder);

}  // namespace ridgeline::ingest
