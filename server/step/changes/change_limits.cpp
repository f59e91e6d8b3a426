#include "step/changes/change_limits.h"

#include <algorithm>
#include <vector>

#include "step/graph/changes.h"

namespace ridgeline::whatif {

namespace {

bool is_same(const graph::Task& a, const graph::Task& b) {
  return a.duration_ns == b.duration_ns && a.gap_ns == b.gap_ns && a.resource == b.resource && a.priority == b.priority;
}

}  // namespace

TouchedGraph touched_by_change(const graph::Graph& before, const graph::Graph& changed) {
  TouchedGraph touched;
  graph::Selection tasks;
  for (graph::TaskId id = 0; id < changed.tasks.size(); ++id) {
    if (id >= before.tasks.size()) {
      touched.added_ns += changed.tasks[id].duration_ns;
    } else if (!is_same(before.tasks[id], changed.tasks[id])) {
      touched.before_ns += before.tasks[id].duration_ns;
    } else {
      continue;
    }
    tasks.push_back(id);
  }
  touched.without = graph::without(changed, tasks);
  std::erase_if(tasks, [&](graph::TaskId id) { return id >= before.tasks.size(); });
  touched.before_without = graph::without(before, tasks);
  return touched;
}

std::int64_t busiest_device_ns(const graph::Graph& graph) {
  std::vector<std::int64_t> busy(graph.resources.size());
  for (const graph::Task& task : graph.tasks) {
    if (graph.resources[task.resource].type == graph::Resource::Type::kDevice) {
      busy[task.resource] += task.duration_ns;
    }
  }
  return busy.empty() ? 0 : *std::ranges::max_element(busy);
}

}  // namespace ridgeline::whatif
