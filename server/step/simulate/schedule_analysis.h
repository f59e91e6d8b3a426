// What a schedule says: the critical path, slack, what runs at once, and the peak of memory.
#pragma once

#include <cstdint>
#include <vector>

#include "step/graph/graph.h"
#include "step/simulate/simulate.h"

namespace ridgeline::step {

/// The chain of tasks that decides how long the iteration takes, in order of time: each began as soon as the one before
/// it allowed. It ends with Graph::end.
std::vector<TaskId> critical_path(const Graph& graph, const Schedule& schedule);

/// By task: by how much it may end later without the iteration ending later, nanoseconds, while the order on resources
/// stays as it is. 0 on the critical path. Tasks that nothing in the iteration waits for may last until its end.
std::vector<std::int64_t> slack(const Graph& graph, const Schedule& schedule);

/// Which side works. They sum to the iteration.
struct Overlap {
  std::int64_t host_only_ns = 0;
  std::int64_t device_only_ns = 0;
  std::int64_t both_ns = 0;
  std::int64_t neither_ns = 0;  ///< latencies: of launches, of hand-overs between threads
};

/// Tasks on hosts against tasks on devices and links, from 0 to the end of the iteration.
Overlap overlap(const Graph& graph, const Schedule& schedule);

/// By line (index as Graph::lines): time of thread `resource`, each instant of the iteration once. While a task runs it
/// is the task's, and while the thread waits it is that of the task that it waits to run.
std::vector<std::int64_t> host_time_by_line(const Graph& graph, const Schedule& schedule, std::uint16_t resource);

struct MemoryPeak {
  std::int64_t bytes = 0;  ///< Graph::bytes_at_start when nothing more is ever alive
  std::int64_t at_ns = 0;
};

/// The most bytes alive at once. Changes at one time happen in the order of Graph::memory.
MemoryPeak memory_peak(const Graph& graph, const Schedule& schedule);

}  // namespace ridgeline::step
