#include "step/changes/step_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/values/idle_cause.h"
#include "step/graph/changes.h"
#include "step/graph/from_recording.h"
#include "step/simulate/schedule_analysis.h"
#include "step/simulate/simulate.h"

namespace ridgeline::step {

namespace {

using analysis::CriticalCost;

constexpr double kNsPerMs = 1e6;
/// Replays that miss the iteration by more say nothing about it.
constexpr double kMostReplayError = 0.05;
/// The lines and the modules described: those with the most time.
constexpr std::size_t kMostDescribed = 32;
/// Tasks that may be simulated for all of them together.
constexpr std::size_t kMostSimulated = 20'000'000;

double ms(std::int64_t ns) { return static_cast<double>(ns) / kNsPerMs; }

/// The unchanged schedule, and what it says of each task.
struct Unchanged {
  const Graph& graph;
  Schedule schedule;
  std::vector<std::int64_t> slack;
  std::vector<bool> critical;
};

/// On one thread alone a task that is shorter shortens the step by as much.
bool is_one_thread(const Graph& graph) { return graph.resources.size() == 1; }

double saved_ms(const Unchanged& unchanged, const Selection& tasks, double factor) {
  if (is_one_thread(unchanged.graph)) {
    std::int64_t sum = 0;
    for (const TaskId id : tasks) {
      sum += unchanged.graph.tasks[id].duration_ns;
    }
    return ms(sum) * (1 - factor);
  }
  const auto schedule = simulate(scaled(unchanged.graph, tasks, factor));
  return schedule ? ms(unchanged.schedule.total_ns - schedule->total_ns) : 0;
}

CriticalCost cost_of(const Unchanged& unchanged, const Selection& tasks) {
  CriticalCost cost;
  std::int64_t critical = 0;
  std::int64_t slack = unchanged.schedule.total_ns;
  for (const TaskId id : tasks) {
    if (unchanged.critical[id]) {
      critical += unchanged.schedule.end[id] - unchanged.schedule.start[id];
    }
    if (unchanged.graph.tasks[id].duration_ns > 0) {
      slack = std::min(slack, unchanged.slack[id]);
    }
  }
  cost.critical_ms = ms(critical);
  cost.slack_ms = ms(slack);
  cost.saved_twice_as_fast_ms = saved_ms(unchanged, tasks, 0.5);
  cost.saved_without_ms = saved_ms(unchanged, tasks, 0);
  return cost;
}

/// Indices with the most time first, without 0 (no line, no module) and those without any.
std::vector<std::uint32_t> most_time_first(const std::vector<std::int64_t>& time, std::size_t most) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 1; i < time.size(); ++i) {
    if (time[i] > 0) {
      order.push_back(i);
    }
  }
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t i) { return time[i]; });
  order.resize(std::min(order.size(), most));
  return order;
}

std::size_t most_described(const Graph& graph) {
  const std::size_t simulations = kMostSimulated / std::max<std::size_t>(1, graph.tasks.size());
  return is_one_thread(graph) ? kMostDescribed : std::clamp<std::size_t>(simulations / 4, 1, kMostDescribed);
}

void add_lines(const Unchanged& unchanged, analysis::StepSchedule& result) {
  const Graph& graph = unchanged.graph;
  std::vector<std::int64_t> time(graph.lines.size());
  for (const Task& task : graph.tasks) {
    time[task.line] += task.duration_ns;
  }
  for (const std::uint32_t line : most_time_first(time, most_described(graph))) {
    const Selection tasks = select(graph, [&](const Task& task) { return task.line == line; });
    result.lines.push_back({graph.lines[line], cost_of(unchanged, tasks)});
  }
}

/// The time of each instance with the instances inside it, by dotted name.
std::map<std::string, std::int64_t> time_of_modules(const Graph& graph) {
  std::vector<std::int64_t> own(graph.modules.size());
  for (const Task& task : graph.tasks) {
    own[task.module] += task.duration_ns;
  }
  std::map<std::string, std::int64_t> time;
  for (std::size_t module = 1; module < own.size(); ++module) {
    const std::string& name = graph.modules[module];
    for (std::size_t end = name.find('.'); end != std::string::npos; end = name.find('.', end + 1)) {
      time[name.substr(0, end)] += own[module];
    }
    time[name] += own[module];
  }
  std::erase_if(time, [](const auto& entry) { return entry.first.empty() || entry.second <= 0; });
  return time;
}

void add_modules(const Unchanged& unchanged, analysis::StepSchedule& result) {
  const Graph& graph = unchanged.graph;
  const std::map<std::string, std::int64_t> time = time_of_modules(graph);
  std::vector<std::string> order;
  for (const auto& [name, ns] : time) {
    order.push_back(name);
  }
  std::ranges::stable_sort(order, std::greater{}, [&](const std::string& name) { return time.at(name); });
  order.resize(std::min(order.size(), most_described(graph)));
  for (const std::string& name : order) {
    result.modules.push_back({name, cost_of(unchanged, select_module(graph, name))});
  }
}

const analysis::BatchRun* run_of_user(const analysis::RunInput& input) {
  const auto found = std::ranges::find(input.runs, input.batch_size, &analysis::BatchRun::batch_size);
  return found == input.runs.end() ? nullptr : &*found;
}

}  // namespace

std::optional<analysis::StepSchedule> describe_schedule(const Graph& graph) {
  auto schedule = simulate(graph);
  if (!schedule) {
    return std::nullopt;
  }
  Unchanged unchanged{graph, std::move(*schedule), {}, std::vector<bool>(graph.tasks.size())};
  unchanged.slack = slack(graph, unchanged.schedule);
  for (const TaskId id : critical_path(graph, unchanged.schedule)) {
    unchanged.critical[id] = true;
  }
  const Overlap overlap = step::overlap(graph, unchanged.schedule);
  analysis::StepSchedule result;
  result.replayed_ms = ms(unchanged.schedule.total_ns);
  result.host_only_ms = ms(overlap.host_only_ns);
  result.device_only_ms = ms(overlap.device_only_ns);
  result.both_ms = ms(overlap.both_ns);
  result.neither_ms = ms(overlap.neither_ns);
  add_lines(unchanged, result);
  add_modules(unchanged, result);
  const auto saved = [](const auto& one) { return one.cost.saved_twice_as_fast_ms; };
  std::ranges::stable_sort(result.lines, std::greater{}, saved);
  std::ranges::stable_sort(result.modules, std::greater{}, saved);
  return result;
}

std::optional<Graph> add_schedule(analysis::Profile& profile, const analysis::RunInput& input) {
  const analysis::BatchRun* run = run_of_user(input);
  if (run == nullptr || !(profile.iteration.ms.value > 0)) {
    return std::nullopt;
  }
  const double bare_ms = profile.iteration.ms.value;
  Graph graph = graph_of(run->recording, input.scope, bare_ms * kNsPerMs);
  auto schedule = analysis::has_all_kernels(profile) ? describe_schedule(graph) : std::nullopt;
  if (!schedule.has_value()) {
    return graph;
  }
  const double error = schedule->replayed_ms / bare_ms - 1;
  if (std::abs(error) > kMostReplayError) {
    profile.warnings.push_back(
        fmt::format("The critical path is not known: replaying the recorded tasks takes {:.0f} % {} than the "
                    "iteration, so they do not explain it.",
                    100 * std::abs(error), error > 0 ? "longer" : "less"));
    return graph;
  }
  profile.schedule = std::move(schedule);
  return graph;
}

}  // namespace ridgeline::step
