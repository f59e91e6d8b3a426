#include "step/changes/change_limits.h"

#include <algorithm>
#include <vector>

#include "step/graph/changes.h"

namespace ridgeline::step {

namespace {

bool is_same(const Task& a, const Task& b) {
  return a.duration_ns == b.duration_ns && a.gap_ns == b.gap_ns && a.resource == b.resource && a.priority == b.priority;
}

}  // namespace

ChangedTasks changed_tasks(const Graph& before, const Graph& changed) {
  ChangedTasks result;
  Selection tasks;
  for (TaskId id = 0; id < changed.tasks.size(); ++id) {
    if (id >= before.tasks.size()) {
      result.added_ns += changed.tasks[id].duration_ns;
    } else if (!is_same(before.tasks[id], changed.tasks[id])) {
      result.before_ns += before.tasks[id].duration_ns;
    } else {
      continue;
    }
    tasks.push_back(id);
  }
  result.changed_without = without(changed, tasks);
  std::erase_if(tasks, [&](TaskId id) { return id >= before.tasks.size(); });
  result.unchanged_without = without(before, tasks);
  return result;
}

std::int64_t busiest_device_ns(const Graph& graph) {
  std::vector<std::int64_t> busy(graph.resources.size());
  for (const Task& task : graph.tasks) {
    if (graph.resources[task.resource].type == Resource::Type::kDevice) {
      busy[task.resource] += task.duration_ns;
    }
  }
  return busy.empty() ? 0 : *std::ranges::max_element(busy);
}

}  // namespace ridgeline::step
