// What decides how long a step takes: the schedule of its graph, for a profile.
#pragma once

#include <optional>

#include "analysis/values/input.h"
#include "analysis/values/profile.h"
#include "step/graph/graph.h"

namespace ridgeline::step {

/// The schedule of a graph: which side works, and for the costliest lines and modules the time on the critical path,
/// the slack, and what the step would gain if they were faster ("virtual speed-up": Coz, SOSP 2015; here on the graph).
/// Nothing when the graph cannot be simulated.
std::optional<analysis::StepSchedule> describe_schedule(const Graph& graph);

/// Gives the profile the schedule of the user's batch size, which `input` has a recording of, unless the replay is so
/// far from the iteration time that nothing can be said by it; then a warning says so. The graph of that recording;
/// nothing where there is none, or nothing was timed.
std::optional<Graph> add_schedule(analysis::Profile& profile, const analysis::RunInput& input);

}  // namespace ridgeline::step
