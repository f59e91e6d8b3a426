#include "step/changes/steady_state.h"

#include <algorithm>
#include <array>

#include "step/simulate/simulate.h"

namespace ridgeline::step {

namespace {

constexpr std::size_t kIterations = 3;

/// Work of a device that no task of the iteration asked for.
std::vector<bool> carried_in(const Graph& graph) {
  std::vector<bool> carried(graph.tasks.size());
  if (graph.recorded_ns == 0) {
    return carried;
  }
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    carried[id] = graph.resources[graph.tasks[id].resource].type == Resource::Type::kDevice;
  }
  for (const Dependency& dependency : graph.dependencies) {
    if (graph.tasks[dependency.from].kind != Kind::kMark) {
      carried[dependency.to] = false;
    }
  }
  return carried;
}

/// The first and the last task of each resource, where they are one each.
struct Ends {
  std::vector<TaskId> first;
  std::vector<TaskId> last;

  explicit Ends(const Graph& graph) : first(graph.resources.size(), kNoTask), last(first) {
    std::vector<bool> follows(graph.tasks.size());
    for (const Task& task : graph.tasks) {
      if (task.next != kNoTask) {
        follows[task.next] = true;
      }
    }
    std::vector<int> firsts(first.size());
    std::vector<int> lasts(first.size());
    for (TaskId id = 0; id < graph.tasks.size(); ++id) {
      const std::uint16_t resource = graph.tasks[id].resource;
      if (!follows[id]) {
        first[resource] = id;
        ++firsts[resource];
      }
      if (graph.tasks[id].next == kNoTask) {
        last[resource] = id;
        ++lasts[resource];
      }
    }
    for (std::size_t resource = 0; resource < first.size(); ++resource) {
      if (firsts[resource] != 1 || lasts[resource] != 1) {
        first[resource] = last[resource] = kNoTask;
      }
    }
  }
};

Graph repeated(const ChangedGraph& changed) {
  const Graph& one = changed.graph;
  const auto count = static_cast<TaskId>(one.tasks.size());
  const std::vector<bool> carried = carried_in(one);
  Graph all;
  all.resources = one.resources;
  for (TaskId copy = 0; copy < kIterations; ++copy) {
    for (TaskId id = 0; id < count; ++id) {
      Task task = one.tasks[id];
      task.next = task.next == kNoTask ? kNoTask : task.next + copy * count;
      if (carried[id]) {
        task.duration_ns = task.gap_ns = 0;
      }
      all.tasks.push_back(task);
    }
    for (const Dependency& dependency : one.dependencies) {
      const std::int64_t lag = carried[dependency.to] ? 0 : dependency.lag_ns;
      all.dependencies.push_back({dependency.from + copy * count, dependency.to + copy * count, lag});
    }
  }
  const Ends ends(one);
  for (TaskId copy = 0; copy + 1 < kIterations; ++copy) {
    const auto link = [&](TaskId from, TaskId to, std::int64_t lag) {
      all.dependencies.push_back({from + copy * count, to + (copy + 1) * count, lag});
    };
    for (std::size_t resource = 0; resource < ends.first.size(); ++resource) {
      if (ends.first[resource] != kNoTask && ends.last[resource] != one.end) {
        link(ends.last[resource], ends.first[resource], 0);
      }
    }
    for (const Dependency& dependency : changed.into_next) {
      link(dependency.from, dependency.to, dependency.lag_ns);
    }
    if (one.end != kNoTask) {
      const TaskId start = ends.first[one.tasks[one.end].resource];
      link(one.end, start != kNoTask ? start : 0, 0);
    }
  }
  return all;
}

}  // namespace

base::Result<std::int64_t> period_ns(const ChangedGraph& changed) {
  const Graph& one = changed.graph;
  if (one.resources.size() <= 1 && changed.into_next.empty()) {
    auto schedule = simulate(one);
    if (!schedule) {
      return schedule.error();
    }
    return schedule->total_ns;
  }
  const Graph all = repeated(changed);
  auto schedule = simulate(all);
  if (!schedule) {
    return schedule.error();
  }
  // By resource, when it is done with each iteration: the one that falls behind decides.
  std::array<std::vector<std::int64_t>, kIterations> done;
  for (std::size_t copy = 0; copy < kIterations; ++copy) {
    done[copy].resize(all.resources.size());
    for (std::size_t i = 0; i < one.tasks.size(); ++i) {
      std::int64_t& end = done[copy][all.tasks[i].resource];
      end = std::max(end, schedule->end[copy * one.tasks.size() + i]);
    }
  }
  std::int64_t period = 0;
  for (std::size_t resource = 0; resource < all.resources.size(); ++resource) {
    period = std::max(period, done[kIterations - 1][resource] - done[kIterations - 2][resource]);
  }
  return period;
}

}  // namespace ridgeline::step
