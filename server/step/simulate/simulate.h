// When each task of a graph runs: a discrete-event simulation.
//
// After Daydream (ATC 2020), algorithm 1, and dPRO (MLSys 2022), section 4.3: each resource has a queue of the tasks
// that are ready for it. Deterministic: of tasks that are ready for a resource the one with the highest priority goes
// first, then the one that was ready first, then the one with the lowest id.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "step/graph/graph.h"

namespace ridgeline::step {

/// Nanoseconds from the start of the iteration, by task.
struct Schedule {
  std::vector<std::int64_t> start;
  std::vector<std::int64_t> end;
  /// The task that determined each task's start: its predecessor that ended last (with lag or gap), or the task before
  /// it on its resource. kNoTask: it started at 0.
  std::vector<TaskId> cause;
  std::vector<TaskId> order;  ///< all tasks as they started; each after what it waited for
  std::int64_t total_ns = 0;  ///< the end of the iteration: of Graph::end, or of the last task without one
};

/// Fails when the graph has a cycle, and when an index or a time of the graph is out of range.
/// Time is linear in tasks and dependencies, but for the queues of resources with several tasks ready at once.
base::Result<Schedule> simulate(const Graph& graph);

}  // namespace ridgeline::step
