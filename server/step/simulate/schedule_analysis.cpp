#include "step/simulate/schedule_analysis.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <ranges>
#include <utility>

namespace ridgeline::step {

namespace {

TaskId last_task(const Graph& graph, const Schedule& schedule) {
  if (graph.end != kNoTask || graph.tasks.empty()) {
    return graph.end;
  }
  return static_cast<TaskId>(std::ranges::max_element(schedule.end) - schedule.end.begin());
}

bool runs_on_host(const Graph& graph, const Task& task) {
  return graph.resources[task.resource].type == Resource::Type::kHost;
}

/// Indices of Graph::dependencies, by the task that they lead to.
struct Incoming {
  std::vector<std::uint32_t> first;  ///< by task, in `dependencies`; one more at the end
  std::vector<std::uint32_t> dependencies;

  explicit Incoming(const Graph& graph) : first(graph.tasks.size() + 1), dependencies(graph.dependencies.size()) {
    for (const Dependency& dependency : graph.dependencies) {
      ++first[dependency.to + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<std::uint32_t> at(first.begin(), first.end() - 1);
    for (std::uint32_t i = 0; i < graph.dependencies.size(); ++i) {
      dependencies[at[graph.dependencies[i].to]++] = i;
    }
  }
};

/// By task: the one before it in order; kNoTask where there is none.
std::vector<TaskId> tasks_before(const Graph& graph) {
  std::vector<TaskId> before(graph.tasks.size(), kNoTask);
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    if (graph.tasks[id].next != kNoTask) {
      before[graph.tasks[id].next] = id;
    }
  }
  return before;
}

/// By task: the one that had its resource before it; kNoTask on resources that are shared.
std::vector<TaskId> ran_before_on_resource(const Graph& graph, const Schedule& schedule) {
  std::vector<TaskId> ran_before(graph.tasks.size(), kNoTask);
  std::vector<TaskId> last(graph.resources.size(), kNoTask);
  for (const TaskId id : schedule.order) {
    if (graph.resources[graph.tasks[id].resource].shared_by <= 0) {
      ran_before[id] = std::exchange(last[graph.tasks[id].resource], id);
    }
  }
  return ran_before;
}

}  // namespace

std::vector<TaskId> critical_path(const Graph& graph, const Schedule& schedule) {
  std::vector<TaskId> path;
  for (TaskId id = last_task(graph, schedule); id != kNoTask; id = schedule.cause[id]) {
    path.push_back(id);
  }
  std::ranges::reverse(path);
  return path;
}

std::vector<std::int64_t> slack(const Graph& graph, const Schedule& schedule) {
  // The latest end of each task, from the last that started to the first.
  std::vector<std::int64_t> latest(graph.tasks.size(), std::numeric_limits<std::int64_t>::max());
  const Incoming incoming(graph);
  const std::vector<TaskId> before = tasks_before(graph);
  const std::vector<TaskId> ran_before = ran_before_on_resource(graph, schedule);
  const auto bound = [&](TaskId id, std::int64_t time) { latest[id] = std::min(latest[id], time); };
  if (const TaskId end = last_task(graph, schedule); end != kNoTask) {
    latest[end] = schedule.total_ns;
  }
  for (const TaskId id : std::views::reverse(schedule.order)) {
    if (latest[id] == std::numeric_limits<std::int64_t>::max()) {
      latest[id] = std::max(schedule.total_ns, schedule.end[id]);
    }
    const std::int64_t latest_start = latest[id] - (schedule.end[id] - schedule.start[id]);
    for (std::uint32_t i = incoming.first[id]; i < incoming.first[id + 1]; ++i) {
      const Dependency& dependency = graph.dependencies[incoming.dependencies[i]];
      bound(dependency.from, latest_start - dependency.lag_ns);
    }
    if (before[id] != kNoTask) {
      bound(before[id], latest_start - graph.tasks[before[id]].gap_ns);
    }
    if (ran_before[id] != kNoTask) {
      bound(ran_before[id], latest_start);
    }
  }
  for (TaskId id = 0; id < latest.size(); ++id) {
    latest[id] -= schedule.end[id];
  }
  return latest;
}

Overlap overlap(const Graph& graph, const Schedule& schedule) {
  struct Edge {
    std::int64_t time;
    bool host;
    int step;
  };
  std::vector<Edge> edges;
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    const std::int64_t end = std::min(schedule.end[id], schedule.total_ns);
    if (end > schedule.start[id]) {
      const bool host = runs_on_host(graph, graph.tasks[id]);
      edges.push_back({schedule.start[id], host, 1});
      edges.push_back({end, host, -1});
    }
  }
  edges.push_back({schedule.total_ns, true, 0});
  std::ranges::sort(edges, {}, &Edge::time);
  Overlap result;
  std::int64_t cursor = 0;
  int host = 0;
  int device = 0;
  for (const Edge& edge : edges) {
    const std::int64_t ns = edge.time - cursor;
    (host > 0 ? (device > 0 ? result.both_ns : result.host_only_ns)
              : (device > 0 ? result.device_only_ns : result.neither_ns)) += ns;
    cursor = edge.time;
    (edge.host ? host : device) += edge.step;
  }
  return result;
}

std::vector<std::int64_t> host_time_by_line(const Graph& graph, const Schedule& schedule, std::uint16_t resource) {
  std::vector<std::int64_t> by_line(graph.lines.size());
  std::int64_t cursor = 0;
  for (const TaskId id : schedule.order) {
    if (graph.tasks[id].resource == resource) {
      const std::int64_t end = std::clamp(schedule.end[id], cursor, std::max(cursor, schedule.total_ns));
      by_line[graph.tasks[id].line] += end - cursor;
      cursor = end;
    }
  }
  return by_line;
}

MemoryPeak memory_peak(const Graph& graph, const Schedule& schedule) {
  struct Change {
    double time;
    std::int64_t bytes;
  };
  std::vector<Change> changes;
  changes.reserve(graph.memory.size());
  for (const MemoryChange& change : graph.memory) {
    const auto start = static_cast<double>(schedule.start[change.task]);
    const auto length = static_cast<double>(schedule.end[change.task]) - start;
    changes.push_back({start + length * static_cast<double>(change.at), change.bytes});
  }
  std::ranges::stable_sort(changes, {}, &Change::time);
  MemoryPeak peak{graph.bytes_at_start, 0};
  std::int64_t alive = graph.bytes_at_start;
  for (const Change& change : changes) {
    alive += change.bytes;
    if (alive > peak.bytes) {
      peak = {alive, static_cast<std::int64_t>(change.time)};
    }
  }
  return peak;
}

}  // namespace ridgeline::step
