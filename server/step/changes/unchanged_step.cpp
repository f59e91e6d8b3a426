#include "step/changes/unchanged_step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/time/models.h"
#include "step/changes/step_operations.h"
#include "step/changes/task_classes.h"
#include "step/changes/weighted_median.h"

namespace ridgeline::step {

namespace {

using protocol::CapturedStep;

constexpr std::size_t kNotCaptured = static_cast<std::size_t>(-1);
/// A ratio of the time in the step to the time alone that lies outside says that one of them is wrong.
constexpr double kLeastRatio = 0.2;
constexpr double kMostRatio = 5;
/// The least share of an operation's time that is not page faults: their time on several threads is an estimate.
constexpr double kLeastComputing = 0.2;

Ratios ratios_of(const CapturedStep& step, const Places& places, StandaloneTimes times) {
  std::map<std::string, std::vector<std::pair<double, double>>> by_name;
  std::vector<std::pair<double, double>> all;
  for (std::size_t i = 0; i < step.operations.size(); ++i) {
    const std::string* key = key_of(step, step.operations[i]);
    const auto time = key != nullptr && places.ns[i] > 0 ? times(*key) : std::nullopt;
    if (time.has_value() && !time->is_disturbed) {  // a disturbed one of a long operation would be that of its name
      const double ratio = std::clamp(places.computing_ns[i] / time->ns, kLeastRatio, kMostRatio);
      by_name[name_of(step, step.operations[i])].emplace_back(ratio, places.ns[i]);
      all.emplace_back(ratio, places.ns[i]);
    }
  }
  Ratios ratios;
  if (all.empty()) {
    return ratios;
  }
  ratios.usual = weighted_median(std::move(all));
  std::vector<std::pair<double, double>> distances;
  for (const auto& [name, of_name] : by_name) {
    const double middle = weighted_median(of_name);
    for (const auto& [ratio, weight] : of_name) {
      distances.emplace_back(std::abs(std::log(ratio / middle)), weight);
    }
    ratios.by_name[name] = middle;
  }
  ratios.spread = weighted_median(std::move(distances));
  return ratios;
}

using TimesOf = std::unordered_map<std::string, std::vector<double>>;

std::unordered_map<std::string, double> medians(const TimesOf& times) {
  std::unordered_map<std::string, double> found;
  for (const auto& [of, ns] : times) {
    found[of] = analysis::median(ns);
  }
  return found;
}

LaunchTimes launch_times(const CapturedStep& step, const Places& places) {
  TimesOf by_key;
  TimesOf by_name;
  std::vector<double> all;
  LaunchTimes launches;
  for (std::size_t i = 0; i < step.operations.size(); ++i) {
    const std::string& name = name_of(step, step.operations[i]);
    if (const double ns = places.launch_ns[i]; ns > 0) {
      all.push_back(ns);
      by_name[name].push_back(ns);
      if (const std::string* key = key_of(step, step.operations[i])) {
        by_key[*key].push_back(ns);
      }
    } else if (places.ns[i] > 0) {
      launches.on_hosts.insert(name);
    }
  }
  launches.by_key = medians(by_key);
  launches.by_name = medians(by_name);
  launches.usual = analysis::median(all);
  return launches;
}

}  // namespace

Places places_of(const Graph& graph, const CapturedStep& step) {
  const std::vector<std::uint32_t> recorded = find_recorded(graph, step);
  const std::size_t count = step.operations.size();
  std::unordered_map<std::uint32_t, std::size_t> captured;
  for (std::size_t i = 0; i < count; ++i) {
    if (recorded[i] != 0) {
      captured[recorded[i]] = i;
    }
  }
  std::vector<std::size_t> owner(graph.operations.size(), kNotCaptured);
  for (std::uint32_t i = 1; i < graph.operations.size(); ++i) {
    const auto found = captured.find(i);
    owner[i] = found != captured.end() ? found->second : owner[graph.operations[i].parent];
  }
  Places places{std::vector<std::vector<TaskId>>(count),
                std::vector<std::vector<TaskId>>(count),
                std::vector<double>(count),
                std::vector<double>(count),
                std::vector<double>(count),
                std::vector<double>(count)};
  std::map<std::uint16_t, std::vector<TaskId>> between;  // by thread: Python since the last operation
  std::vector<double> device_ns(count);
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    const std::size_t of = owner[task.operation];
    if (of == kNotCaptured) {
      if (task.kind == Kind::kPython || task.kind == Kind::kOperation) {
        between[task.resource].push_back(id);
      }
      continue;
    }
    auto& before = between[task.resource];
    for (const TaskId python : before) {
      places.python[of].push_back(python);
      places.python_ns[of] += static_cast<double>(graph.tasks[python].duration_ns);
    }
    before.clear();
    places.tasks[of].push_back(id);
    (is_on_device(graph, id) ? device_ns : places.ns)[of] += static_cast<double>(task.duration_ns);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (device_ns[i] > 0) {
      places.launch_ns[i] = std::exchange(places.ns[i], device_ns[i]);
    }
    places.computing_ns[i] = std::max(kLeastComputing * places.ns[i], places.ns[i] - page_fault_ns(step, i));
  }
  return places;
}

const std::string* key_of(const CapturedStep& step, const protocol::CapturedOperation& operation) {
  return operation.key < 0 ? nullptr : &step.keys[static_cast<std::size_t>(operation.key)];
}

const std::string& name_of(const CapturedStep& step, const protocol::CapturedOperation& operation) {
  return step.names[static_cast<std::size_t>(operation.name)];
}

double page_fault_ns(const CapturedStep& step, std::size_t i) {
  return step.page_fault_ns.empty() ? 0 : step.page_fault_ns[i];
}

double LaunchTimes::of(const std::string* key, const std::string& name) const {
  if (const auto same = key == nullptr ? by_key.end() : by_key.find(*key); same != by_key.end()) {
    return same->second;
  }
  const auto named = by_name.find(name);
  return named != by_name.end() ? named->second : usual;
}

double Ratios::of(const std::string& name) const {
  const auto found = by_name.find(name);
  return found != by_name.end() ? found->second : usual;
}

UnchangedStep unchanged_step(const Graph& graph, const CapturedStep& step, StandaloneTimes times) {
  Places places = places_of(graph, step);
  Ratios ratios = ratios_of(step, places, times);
  const HostTime host(step, places.python_ns);
  LaunchTimes launches = launch_times(step, places);
  UnchangedStep unchanged{graph, step, std::move(places), std::move(ratios), {}, std::move(launches), host};
  for (std::size_t i = 0; i < step.operations.size(); ++i) {
    const protocol::CapturedOperation& operation = step.operations[i];
    if (const std::string* key = key_of(step, operation); key != nullptr && unchanged.places.ns[i] > 0) {
      Times& in_step = unchanged.in_step[*key];
      in_step.ns += unchanged.places.computing_ns[i];
      ++in_step.count;
    }
  }
  return unchanged;
}

}  // namespace ridgeline::step
