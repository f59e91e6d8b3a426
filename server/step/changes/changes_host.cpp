// Changes of what hosts do: launches, loading of data, waits, and lines or modules that are faster.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "step/changes/arguments.h"
#include "step/changes/graph_changes.h"
#include "step/changes/steady_state.h"
#include "step/changes/task_classes.h"
#include "step/graph/changes.h"
#include "step/simulate/simulate.h"

namespace ridgeline::step {

namespace {

using analysis::Phase;

/// One launch of a graph in place of all.
constexpr double kGraphLaunchNs = 10'000;
/// The share of the device's time in graphs above which nothing worth capturing is left.
constexpr double kMostInGraphs = 0.5;
/// What Python and inputs that are copied into place leave of the host's time.
constexpr Guess kGraphHost = {0.1, 0.03, 0.0};
/// The share of loading a batch that the training process still does when another process loads it.
constexpr Guess kReceived = {0.05, 0.02, 0.0};
/// The share of its speed alone that each worker reaches when all work at once.
constexpr Guess kWorkerEfficiency = {0.5, 0.75, 1.0};
/// The share of loading in a thread that still takes time of the process's first thread: they share Python's lock.
constexpr Guess kSharedLock = {0.6, 0.2, 0.0};
/// Pageable memory is copied to a pinned buffer first, piece by piece: 3 to 6 GB/s, where pinned memory has 10 to 25.
constexpr Guess kPinned = {1.3, 2, 4};

bool is_compute_phase(Phase phase) {
  return phase == Phase::kForward || phase == Phase::kBackward || phase == Phase::kRecomputation ||
         phase == Phase::kOptimizer;
}

bool is_host(const Graph& graph, TaskId id) {
  return graph.resources[graph.tasks[id].resource].type == Resource::Type::kHost;
}

/// Waits of a host for a device, by task.
std::vector<bool> device_waits(const Graph& graph) {
  std::vector<bool> waits(graph.tasks.size());
  for (const Dependency& dependency : graph.dependencies) {
    if (graph.tasks[dependency.to].kind == Kind::kWait && is_on_device(graph, dependency.from)) {
      waits[dependency.to] = true;
    }
  }
  return waits;
}

/// Drops what waits of a host wait for, where `of` holds; whether there was any.
template <typename Of>
bool drop_waits(Graph& graph, Of of) {
  const std::size_t before = graph.dependencies.size();
  std::erase_if(graph.dependencies, [&](const Dependency& dependency) {
    return graph.tasks[dependency.to].kind == Kind::kWait && is_on_device(graph, dependency.from) &&
           of(dependency.from, dependency.to);
  });
  return graph.dependencies.size() != before;
}

/// What thread 0 does to get the next batch: no call of the device's runtime, which copies it.
Selection loading(const Graph& graph) {
  const std::uint16_t host = graph.end == kNoTask ? 0 : graph.tasks[graph.end].resource;
  return select(graph, [&](const Task& task) {
    const bool work = task.kind == Kind::kPython || task.kind == Kind::kOperation;
    return task.resource == host && work &&
           (task.phase == Phase::kData || (task.phase == Phase::kOther && task.kind == Kind::kPython));
  });
}

struct Loading {
  Selection tasks;
  double ns = 0;
  double other_ns = 0;  ///< of the rest of the step
};

/// Whether anything on a host loads data or waits for it. Python between operations alone says nothing of that.
bool loads_data(const Graph& graph) {
  return std::ranges::any_of(graph.tasks, [&](const Task& task) {
    const bool work = task.kind == Kind::kPython || task.kind == Kind::kOperation;
    return work && task.phase == Phase::kData && task.duration_ns > 0 &&
           graph.resources[task.resource].type == Resource::Type::kHost;
  });
}

base::Result<Loading> loading_of(const ChangedGraph& changed) {
  if (!loads_data(changed.graph)) {
    return base::error("it hardly waits for data: no loading was recorded in the step");
  }
  Loading found{loading(changed.graph), 0, 0};
  found.ns = total_ns(changed.graph, found.tasks);
  const auto period = period_ns(changed);
  if (!period) {
    return period.error();
  }
  const auto all = static_cast<double>(*period);
  if (found.ns <= 0.01 * all) {
    return base::error("it hardly waits for data: less than 1 % of the step");
  }
  found.other_ns = std::max(0.0, all - found.ns);
  return found;
}

/// The share of the device's time whose work calls that launch graphs asked for.
double launched_as_graphs(const Graph& graph) {
  std::vector<bool> in_graph(graph.tasks.size());
  for (const Dependency& dependency : graph.dependencies) {
    const Task& from = graph.tasks[dependency.from];
    in_graph[dependency.to] =
        in_graph[dependency.to] || (from.kind == Kind::kCall && mentions(graph.names[from.name], "graphlaunch"));
  }
  double all = 0;
  double inside = 0;
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    const auto ns = is_on_device(graph, id) ? static_cast<double>(graph.tasks[id].duration_ns) : 0;
    all += ns;
    inside += in_graph[id] ? ns : 0;
  }
  return all > 0 ? inside / all : 0;
}

bool is_upload(const Graph& graph, const Task& task) {
  const std::string& name = graph.names[task.name];
  return task.kind == Kind::kCopy && (mentions(name, "htod") || mentions(name, "hosttodevice"));
}

bool is_at(const analysis::Location& location, std::string_view file, std::uint32_t line) {
  const bool same = location.file == file || location.file.ends_with("/" + std::string(file));
  return same && location.line == line;
}

/// What `FILE:LINE` or a module's name stands for.
Selection place(const Graph& graph, std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    const auto line = whole_number_of(text.substr(colon + 1), 1, 1'000'000'000);
    return select(graph, [&](const Task& task) {
      return line.has_value() && task.line != 0 &&
             is_at(graph.lines[task.line], text.substr(0, colon), static_cast<std::uint32_t>(*line));
    });
  }
  return module_of(graph, text);
}

}  // namespace

base::Result<ChangedGraph> cuda_graphs(ChangedGraph changed, const Asked& asked) {
  Graph& graph = changed.graph;
  if (!has_device(graph)) {
    return base::error("nothing of the step ran on a device");
  }
  if (launched_as_graphs(graph) > kMostInGraphs) {
    return base::error(fmt::format("{:.0f} % of the device's work is launched as CUDA graphs already",
                                   100 * launched_as_graphs(graph)));
  }
  const std::vector<bool> waits = device_waits(graph);
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    if (waits[id] && is_compute_phase(task.phase)) {
      const analysis::Location& at = graph.lines[task.line];
      return base::error("the host waits for the device within the step" +
                         (task.line == 0 ? std::string() : fmt::format(", at {}:{}", at.file, at.line)) +
                         ": a graph cannot be captured across that; `no-sync` before it takes the waits away");
    }
  }
  bool first = true;
  std::vector<bool> inside(graph.tasks.size());
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    Task& task = graph.tasks[id];
    inside[id] = is_compute_phase(task.phase);
    if (!inside[id] || !is_host(graph, id)) {
      continue;
    }
    task.gap_ns = 0;
    const double left = static_cast<double>(task.duration_ns) * kGraphHost.at(asked.bound);
    task.duration_ns = std::llround(left + (first && task.kind == Kind::kCall ? kGraphLaunchNs : 0));
    first = first && task.kind != Kind::kCall;
  }
  for (Dependency& dependency : graph.dependencies) {
    if (inside[dependency.to] && (is_host(graph, dependency.from) || is_host(graph, dependency.to))) {
      dependency.lag_ns = 0;
    }
  }
  return changed;
}

base::Result<ChangedGraph> loader_workers(ChangedGraph changed, const Asked& asked) {
  const std::vector<std::string> parts = split(asked.argument, ',');
  const auto workers = whole_number_of(parts.front(), 1, 1024);
  const auto now = parts.size() > 1 ? whole_number_of(parts[1], 0, 1024) : std::optional(0);
  if (parts.size() > 2 || !workers.has_value() || !now.has_value()) {
    return base::error("expected the number of workers, and the number that the recording had: N or N,NOW");
  }
  auto data = loading_of(changed);
  if (!data) {
    return data.error();
  }
  // With workers the step waited for them: each made a batch in the time of as many steps as there are workers.
  const double batch_ns = *now == 0 ? data->ns : (data->ns + data->other_ns) * *now;
  const double each_ns = batch_ns / (*workers == *now ? 1 : *workers == 1 ? 1 : kWorkerEfficiency.at(asked.bound));
  const double received = *now == 0 ? kReceived.at(asked.bound) * data->ns : 0;
  const double left = std::max(received, each_ns / *workers - data->other_ns);
  changed.graph = scaled(std::move(changed.graph), data->tasks, left / data->ns);
  return changed;
}

base::Result<ChangedGraph> prefetch(ChangedGraph changed, const Asked& asked) {
  auto data = loading_of(changed);
  if (!data) {
    return data.error();
  }
  const double left = std::max(kSharedLock.at(asked.bound) * data->ns, data->ns - data->other_ns);
  changed.graph = scaled(std::move(changed.graph), data->tasks, std::min(1.0, left / data->ns));
  return changed;
}

base::Result<ChangedGraph> pinned_memory(ChangedGraph changed, const Asked& asked) {
  Graph& graph = changed.graph;
  const Selection uploads = select(
      graph, [&](const Task& task) { return is_upload(graph, task) && !mentions(graph.names[task.name], "pinned"); });
  if (uploads.empty()) {
    return base::error("it copies nothing from pageable memory to a device");
  }
  drop_waits(graph, [&](TaskId from, TaskId) { return std::ranges::binary_search(uploads, from); });
  changed.graph = scaled(std::move(graph), uploads, 1 / kPinned.at(asked.bound));
  return changed;
}

base::Result<ChangedGraph> no_sync(ChangedGraph changed, const Asked& asked) {
  Graph& graph = changed.graph;
  Selection chosen;
  if (!asked.argument.empty()) {
    chosen = place(graph, asked.argument);
    if (chosen.empty()) {
      return base::error("nothing in it is called or is at " + std::string(asked.argument));
    }
  }
  const bool any = drop_waits(
      graph, [&](TaskId, TaskId to) { return asked.argument.empty() || std::ranges::binary_search(chosen, to); });
  if (!any) {
    return base::error("its host does not wait for a device" + std::string(asked.argument.empty() ? "" : " there"));
  }
  return changed;
}

base::Result<ChangedGraph> faster(ChangedGraph changed, const Asked& asked) {
  const std::size_t equals = asked.argument.rfind('=');
  const auto times =
      equals == std::string_view::npos ? std::nullopt : number_of(asked.argument.substr(equals + 1), 0.001, 1e9);
  if (!times.has_value()) {
    return base::error("expected FILE:LINE=K or MODULE=K, to make it K times as fast");
  }
  const Selection tasks = place(changed.graph, asked.argument.substr(0, equals));
  if (tasks.empty()) {
    return base::error("nothing in it is called or is at " + std::string(asked.argument.substr(0, equals)));
  }
  changed.graph = scaled(std::move(changed.graph), tasks, 1 / *times);
  return changed;
}

base::Result<ChangedGraph> without_module(ChangedGraph changed, const Asked& asked) {
  const Selection tasks = module_of(changed.graph, asked.argument);
  if (tasks.empty()) {
    return base::error("no module of it is called " + std::string(asked.argument));
  }
  changed.graph = without(std::move(changed.graph), tasks);
  return changed;
}

}  // namespace ridgeline::step
