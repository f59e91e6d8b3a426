// What a change of a graph can bring at most, and cost at most.
#pragma once

#include <cstdint>

#include "step/changes/graph_change.h"

namespace ridgeline::step {

/// What a change touches: tasks whose time, place or order is another one, and tasks that it adds.
struct TouchedGraph {
  Graph without;               ///< the changed graph, in which all of that takes no time
  Graph before_without;        ///< the unchanged graph, in which it takes no time either
  std::int64_t before_ns = 0;  ///< of those tasks in the unchanged graph
  std::int64_t added_ns = 0;   ///< of the tasks that are new
};

/// `changed` was made of `before`, whose tasks it has under their ids.
TouchedGraph touched_by_change(const Graph& before, const Graph& changed);

/// How long the busiest stream of a device works: no schedule of the graph takes less.
std::int64_t busiest_device_ns(const Graph& graph);

}  // namespace ridgeline::step
