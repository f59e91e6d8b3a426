#include "step/graph/changes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <unordered_map>

namespace ridgeline::step {

namespace {

std::vector<bool> flags(const Graph& graph, const Selection& tasks) {
  std::vector<bool> chosen(graph.tasks.size());
  for (const TaskId id : tasks) {
    chosen[id] = true;
  }
  return chosen;
}

/// Which of the texts a predicate holds for, so that it is asked once for each text and not for each task.
template <typename Matches>
std::vector<bool> matching(const std::vector<std::string>& texts, Matches matches) {
  std::vector<bool> found;
  for (const std::string& text : texts) {
    found.push_back(matches(text));
  }
  return found;
}

/// Erases what the tasks allocate and free, but for blocks that other tasks free or allocate: those still exist. Blocks
/// are told apart by their size.
void erase_memory(Graph& graph, const std::vector<bool>& tasks) {
  std::unordered_map<std::int64_t, std::int64_t> missing;  // by size: blocks that others free (> 0) or allocate (< 0)
  for (const MemoryChange& change : graph.memory) {
    if (!tasks[change.task]) {
      missing[std::abs(change.bytes)] += change.bytes > 0 ? -1 : 1;
    }
  }
  std::erase_if(graph.memory, [&](const MemoryChange& change) {
    std::int64_t& others = missing[std::abs(change.bytes)];
    if (!tasks[change.task] || (change.bytes > 0 ? others > 0 : others < 0)) {
      others -= !tasks[change.task] ? 0 : others > 0 ? 1 : -1;
      return false;
    }
    return true;
  });
}

}  // namespace

Selection select_kind(const Graph& graph, Kind kind) {
  return select(graph, [kind](const Task& task) { return task.kind == kind; });
}

Selection select_phase(const Graph& graph, analysis::Phase phase) {
  return select(graph, [phase](const Task& task) { return task.phase == phase; });
}

Selection select_line(const Graph& graph, const analysis::Location& line) {
  const auto found = std::ranges::find(graph.lines, line);
  const auto index = static_cast<std::uint32_t>(found - graph.lines.begin());
  return select(graph, [&](const Task& task) { return index != 0 && task.line == index; });
}

Selection select_module(const Graph& graph, std::string_view name) {
  const std::string inside = std::string(name) + ".";
  const std::vector<bool> chosen = matching(graph.modules, [&](const std::string& module) {
    return !module.empty() && (name.empty() || module == name || module.starts_with(inside));
  });
  return select(graph, [&](const Task& task) { return chosen[task.module]; });
}

Selection select_name(const Graph& graph, std::string_view part) {
  const std::vector<bool> chosen =
      matching(graph.names, [&](const std::string& name) { return name.find(part) != std::string::npos; });
  return select(graph, [&](const Task& task) { return chosen[task.name]; });
}

double total_ns(const Graph& graph, const Selection& tasks) {
  double sum = 0;
  for (const TaskId id : tasks) {
    sum += static_cast<double>(graph.tasks[id].duration_ns);
  }
  return sum;
}

Task task_like(const Graph& graph, TaskId like, std::int64_t duration_ns, std::uint32_t name) {
  Task task = graph.tasks[like];
  task.duration_ns = duration_ns;
  task.gap_ns = 0;
  task.name = name;
  return task;
}

Graph scaled(Graph graph, const Selection& tasks, double factor) {
  for (const TaskId id : tasks) {
    std::int64_t& duration = graph.tasks[id].duration_ns;
    duration = std::llround(static_cast<double>(duration) * factor);
  }
  return graph;
}

Graph with_duration(Graph graph, const Selection& tasks, std::int64_t duration_ns) {
  for (const TaskId id : tasks) {
    graph.tasks[id].duration_ns = duration_ns;
  }
  return graph;
}

Graph without(Graph graph, const Selection& tasks) {
  const std::vector<bool> chosen = flags(graph, tasks);
  for (const TaskId id : tasks) {
    graph.tasks[id].duration_ns = 0;
    graph.tasks[id].gap_ns = 0;
  }
  for (Dependency& dependency : graph.dependencies) {
    if (chosen[dependency.to]) {
      dependency.lag_ns = 0;
    }
  }
  erase_memory(graph, chosen);
  return graph;
}

Graph moved(Graph graph, const Selection& tasks, std::uint16_t resource) {
  const std::vector<bool> chosen = flags(graph, tasks);
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    if (chosen[id]) {
      continue;
    }
    TaskId& next = graph.tasks[id].next;
    while (next != kNoTask && chosen[next]) {
      next = graph.tasks[next].next;
    }
  }
  for (const TaskId id : tasks) {
    graph.tasks[id].resource = resource;
    graph.tasks[id].next = kNoTask;
  }
  return graph;
}

Graph with_priority(Graph graph, const Selection& tasks, std::int32_t priority) {
  for (const TaskId id : tasks) {
    graph.tasks[id].priority = priority;
  }
  return graph;
}

}  // namespace ridgeline::step
