#include "step/graph/graph.h"

#include <algorithm>

namespace ridgeline::step {

TaskId insert_after(Graph& graph, TaskId after, Task task) {
  task.resource = graph.tasks[after].resource;
  task.next = graph.tasks[after].next;
  const TaskId id = graph.tasks[after].next = static_cast<TaskId>(graph.tasks.size());
  graph.tasks.push_back(task);
  return id;
}

TaskId add_task(Graph& graph, Task task) {
  task.next = kNoTask;
  graph.tasks.push_back(task);
  return static_cast<TaskId>(graph.tasks.size() - 1);
}

std::uint16_t add_link(Graph& graph, const std::string& name) {
  graph.resources.push_back({name, Resource::Type::kLink});
  return static_cast<std::uint16_t>(graph.resources.size() - 1);
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
