// The graph of a recorded iteration.
//
// Daydream (ATC 2020), sections 4.2 and 4.3: tasks of host threads in order, tasks of streams in order, launches that
// kernels wait for, and waits of the host for a device; and, for recordings of the CPU, hand-offs between host threads.
// Mapping a kernel to its layer needs no synchronisation: the call that launched it knows its line and its module.
#pragma once

#include <cstddef>

#include "analysis/values/input.h"
#include "protocol/recording.h"
#include "step/graph/graph.h"

namespace ridgeline::step {

/// The recorded iteration whose duration is the median of those that the profile uses. `bare_ns` is the iteration time
/// without recording; if it is 0, durations stay as recorded. Otherwise host durations are scaled to `bare_ns`, which
/// removes the cost of recording; if only the iteration's own thread and the compute threads of its operations ran,
/// they sum, per line and phase, to the profile's figures. Device durations stay as recorded. Thread 0 of the recording
/// is resource 0.
Graph graph_of(const recording::Recording& recording, const analysis::SourceScope& scope, double bare_ns);

/// Another iteration of the recording, by its index, as recorded.
Graph graph_of_iteration(const recording::Recording& recording, const analysis::SourceScope& scope,
                         std::size_t iteration);

}  // namespace ridgeline::step
