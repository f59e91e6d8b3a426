// Changes of a graph: select tasks, then scale, set, take out, insert, move or prioritise them.
//
// Functions from graph to graph. Daydream (ATC 2020), section 4.4.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "step/graph/graph.h"

namespace ridgeline::step {

/// Ascending.
using Selection = std::vector<TaskId>;

template <typename Matches>
Selection select(const Graph& graph, Matches matches) {
  Selection found;
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    if (matches(graph.tasks[id])) {
      found.push_back(id);
    }
  }
  return found;
}

Selection select_kind(const Graph& graph, Kind kind);
Selection select_phase(const Graph& graph, analysis::Phase phase);
Selection select_line(const Graph& graph, const analysis::Location& line);
/// The instance with that dotted name and the instances inside it; "" selects everything that has an instance.
Selection select_module(const Graph& graph, std::string_view name);
/// The tasks whose name contains the text.
Selection select_name(const Graph& graph, std::string_view part);

double total_ns(const Graph& graph, const Selection& tasks);

/// A task to insert: of the same line, module and phase as another one, without its gap.
Task task_like(const Graph& graph, TaskId like, std::int64_t duration_ns, std::uint32_t name);

/// Multiplies durations, rounded to whole nanoseconds. The factor is finite and not negative.
Graph scaled(Graph graph, const Selection& tasks, double factor);

/// Sets durations.
Graph with_duration(Graph graph, const Selection& tasks, std::int64_t duration_ns);

/// The tasks take no time, have no lag before them and no gap behind them, and neither allocate nor free, except blocks
/// that other tasks free or have allocated: what follows one of them waits for what it waited for, as if it were not
/// there.
Graph without(Graph graph, const Selection& tasks);

/// Runs the tasks on another resource, outside of any order there; what was behind one in its order follows what was
/// before it. The new resource is one of the graph's.
Graph moved(Graph graph, const Selection& tasks, std::uint16_t resource);

Graph with_priority(Graph graph, const Selection& tasks, std::int32_t priority);

}  // namespace ridgeline::step
