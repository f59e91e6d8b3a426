// The graph of a recorded iteration.
//
// Daydream (ATC 2020), sections 4.2 and 4.3: tasks of host threads in order, tasks of streams in order, launches that
// allow kernels, and waits of the host for a device; and, for recordings of the CPU, hand-overs between host threads.
// Nothing is synchronised to map a kernel to a layer: the call that launched it knows its line and its module.
#pragma once

#include <cstddef>

#include "analysis/values/input.h"
#include "protocol/recording.h"
#include "step/graph/graph.h"

namespace ridgeline::step {

/// The iteration of the recording whose duration is the median of those that the profile uses. `bare_ns` is the
/// iteration without recording; 0: as recorded. Durations on the host are without the cost of recording, in proportion
/// to `bare_ns`; where nothing ran but the iteration's own thread, and threads that its operations compute with, they
/// sum, by line and phase, to what the profile has for these. Durations on devices are as recorded. Thread 0 of the
/// recording is resource 0.
Graph graph_of(const recording::Recording& recording, const analysis::SourceScope& scope, double bare_ns);

/// Another iteration of the recording, by its index, as recorded.
Graph graph_of_iteration(const recording::Recording& recording, const analysis::SourceScope& scope,
                         std::size_t iteration);

}  // namespace ridgeline::step
