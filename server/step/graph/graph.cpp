#include "step/graph/graph.h"

#include <algorithm>

namespace ridgeline::step {

TaskId insert_after(Graph& graph, TaskId after, Task task) {
  const auto id = static_cast<TaskId>(graph.tasks.size());
  task.resource = graph.tasks[after].resource;
  task.next = graph.tasks[after].next;
  graph.tasks[after].next = id;
  graph.tasks.push_back(task);
  return id;
}

std::uint32_t name_index(Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.names, name);
  if (found == graph.names.end()) {
    graph.names.push_back(name);
    return static_cast<std::uint32_t>(graph.names.size() - 1);
  }
  return static_cast<std::uint32_t>(found - graph.names.begin());
}

}  // namespace ridgeline::step
