// What a change of a graph can bring at most, and cost at most.
#pragma once

#include <cstdint>

#include "step/changes/graph_change.h"

namespace ridgeline::step {

/// The tasks whose time, place or order a change changes, and those that it adds.
struct ChangedTasks {
  Graph changed_without;       ///< the changed graph, in which these tasks take no time
  Graph unchanged_without;     ///< the unchanged graph, in which they take no time either
  std::int64_t before_ns = 0;  ///< of these tasks in the unchanged graph
  std::int64_t added_ns = 0;   ///< of the tasks that are new
};

/// `changed` was made of `before`, whose tasks it has under their ids.
ChangedTasks changed_tasks(const Graph& before, const Graph& changed);

/// How long the busiest stream of a device works: no schedule of the graph takes less.
std::int64_t busiest_device_ns(const Graph& graph);

}  // namespace ridgeline::step
