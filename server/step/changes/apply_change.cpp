#include "step/changes/apply_change.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "step/changes/task_classes.h"
#include "step/graph/changes.h"
#include "step/simulate/simulate.h"

namespace ridgeline::step {

namespace {

constexpr std::size_t kMaxInserted = 1'000'000;
constexpr std::string_view kLink = "link:";

bool is_called_one_of(const Graph& graph, const Task& task, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& part) { return is_called(graph, task, part); });
}

Selection chosen(const Graph& graph, const Selector& by) {
  return select(graph, [&](const Task& task) {
    const analysis::Location& at = graph.lines[task.line];
    const auto id = static_cast<TaskId>(&task - graph.tasks.data());
    return (!by.tasks.has_value() || std::ranges::binary_search(*by.tasks, id)) && task.kind != Kind::kMark &&
           (!by.kind.has_value() || task.kind == *by.kind) && (!by.phase.has_value() || task.phase == *by.phase) &&
           (by.module.empty() || is_inside(graph.modules[task.module], by.module)) &&
           (by.line == 0 ||
            (task.line != 0 && at.line == by.line && (at.file == by.file || at.file.ends_with("/" + by.file)))) &&
           (by.names.empty() || is_called_one_of(graph, task, by.names)) &&
           (by.not_names.empty() || !is_called_one_of(graph, task, by.not_names));
  });
}

base::Result<std::uint16_t> resource_of(Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.resources, name, &Resource::name);
  if (found != graph.resources.end()) {
    return static_cast<std::uint16_t>(found - graph.resources.begin());
  }
  if (!name.starts_with(kLink) || graph.resources.size() >= std::numeric_limits<std::uint16_t>::max()) {
    std::vector<std::string> names;
    for (const Resource& resource : graph.resources) {
      names.push_back(resource.name);
    }
    names.resize(std::min<std::size_t>(names.size(), 8));
    return base::error(fmt::format("nothing of it runs on \"{}\"; there are {}, and link:NAME makes a link", name,
                                   fmt::join(names, ", ")));
  }
  return add_link(graph, name);
}

/// A task like `like`, behind it on its resource, or first in line on `resource`.
TaskId insert_task(Graph& graph, TaskId like, std::int64_t duration_ns, std::uint32_t name,
                   std::optional<std::uint16_t> resource) {
  Task task = task_like(graph, like, duration_ns, name);
  if (!resource.has_value()) {
    return insert_after(graph, like, task);
  }
  task.resource = *resource;
  if (graph.resources[*resource].type == Resource::Type::kLink) {
    task.kind = Kind::kCommunication;
  }
  return add_task(graph, task);
}

base::Result<void> insert(Graph& graph, const UserStep& step, const Selection& behind, Bound bound) {
  if (behind.size() > kMaxInserted) {
    return base::error("it would insert more than a million tasks");
  }
  std::optional<std::uint16_t> resource;
  if (!step.resource.empty()) {
    const auto found = resource_of(graph, step.resource);
    if (!found) {
      return found.error();
    }
    resource = *found;
  }
  auto schedule = simulate(graph);
  if (!schedule) {
    return schedule.error();
  }
  std::vector<std::pair<std::int64_t, TaskId>> waiting;
  if (step.before.has_value()) {
    for (const TaskId id : chosen(graph, *step.before)) {
      waiting.emplace_back(schedule->start[id], id);
    }
    std::ranges::sort(waiting);
  }
  const std::uint32_t name = name_index(graph, step.name);
  for (const TaskId id : behind) {
    const TaskId added = insert_task(graph, id, std::llround(step.amount.at(bound) * 1e3), name, resource);
    graph.dependencies.push_back({id, added, 0});
    // Only what has begun after it in the schedule, so that nothing waits in a circle.
    const auto next = std::ranges::lower_bound(waiting, std::pair(schedule->end[id], TaskId{0}));
    const auto other = std::ranges::find_if(
        next, waiting.end(), [&](const auto& each) { return each.second != id && (each.first > schedule->start[id]); });
    if (other != waiting.end()) {
      graph.dependencies.push_back({added, other->second, 0});
    }
  }
  return {};
}

base::Result<void> make(Graph& graph, const UserStep& step, Bound bound) {
  const Selection tasks = chosen(graph, step.select);
  if (tasks.empty()) {
    return base::error("it selects nothing of this step");
  }
  switch (step.what) {
    case UserStep::Do::kScale:
      graph = scaled(std::move(graph), tasks, step.amount.at(bound));
      break;
    case UserStep::Do::kSet:
      graph = with_duration(std::move(graph), tasks, std::llround(step.amount.at(bound) * 1e3));
      break;
    case UserStep::Do::kRemove:
      graph = without(std::move(graph), tasks);
      break;
    case UserStep::Do::kPriority:
      graph = with_priority(std::move(graph), tasks, step.priority);
      break;
    case UserStep::Do::kInsert:
      return insert(graph, step, tasks, bound);
    case UserStep::Do::kMove: {
      const auto resource = resource_of(graph, step.resource);
      if (!resource) {
        return resource.error();
      }
      graph = moved(std::move(graph), tasks, *resource);
      break;
    }
  }
  return {};
}

}  // namespace

base::Result<ChangedGraph> apply(const UserChange& change, ChangedGraph changed, Bound bound) {
  for (std::size_t i = 0; i < change.steps.size(); ++i) {
    if (auto made = make(changed.graph, change.steps[i], bound); !made) {
      return base::error(fmt::format("/steps/{}: {}", i, made.error().message()));
    }
  }
  return changed;
}

}  // namespace ridgeline::step
