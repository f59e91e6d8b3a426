#include "whatif/retime.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "graph/changes.h"
#include "whatif/step_operations.h"
#include "whatif/task_classes.h"

namespace ridgeline::whatif {

namespace {

using graph::Graph;
using graph::Kind;
using graph::TaskId;
using protocol::CapturedOperation;
using protocol::CapturedStep;
using protocol::StepPart;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
/// A ratio of the time in the step to the time alone that lies outside says that one of them is wrong.
constexpr double kLeastRatio = 0.2;
constexpr double kMostRatio = 5;
/// Python before an operation that goes does not all go: loops over parameters stay.
constexpr double kUsualPythonShare = 2;

double weighted_median(std::vector<std::pair<double, double>> values) {
  std::ranges::sort(values);
  double total = 0;
  for (const auto& [value, weight] : values) {
    total += weight;
  }
  double sum = 0;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (2 * sum >= total) {
      return value;
    }
  }
  return 0;
}

const std::string* key_of(const CapturedStep& step, const CapturedOperation& operation) {
  return operation.key < 0 ? nullptr : &step.keys[static_cast<std::size_t>(operation.key)];
}

const std::string& name_of(const CapturedStep& step, const CapturedOperation& operation) {
  return step.names[static_cast<std::size_t>(operation.name)];
}

/// The tasks of the unchanged step by captured operation, and the Python before each.
struct Places {
  std::vector<std::vector<TaskId>> tasks;   ///< on the host and on devices
  std::vector<std::vector<TaskId>> python;  ///< between the operation before and this one, on its thread
  std::vector<double> ns;                   ///< of `tasks`: on devices where there are any, else on hosts
  std::vector<double> python_ns;
};

Places places_of(const UnchangedStep& unchanged) {
  const Graph& graph = unchanged.graph;
  const std::size_t count = unchanged.step.operations.size();
  std::unordered_map<std::uint32_t, std::size_t> captured;
  for (std::size_t i = 0; i < count; ++i) {
    if (unchanged.recorded[i] != 0) {
      captured[unchanged.recorded[i]] = i;
    }
  }
  std::vector<std::size_t> owner(graph.operations.size(), kNone);
  for (std::uint32_t i = 1; i < graph.operations.size(); ++i) {
    const auto found = captured.find(i);
    owner[i] = found != captured.end() ? found->second : owner[graph.operations[i].parent];
  }
  Places places{std::vector<std::vector<TaskId>>(count), std::vector<std::vector<TaskId>>(count),
                std::vector<double>(count), std::vector<double>(count)};
  std::map<std::uint16_t, std::vector<TaskId>> between;  // by thread: Python since the last operation
  std::vector<double> device_ns(count);
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    const graph::Task& task = graph.tasks[id];
    const std::size_t of = owner[task.operation];
    if (of == kNone) {
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
      places.ns[i] = device_ns[i];
    }
  }
  return places;
}

/// The time in the step over the time alone: of operations of each name, and of all.
class Ratios {
 public:
  Ratios(const CapturedStep& step, const Places& places, const TimeAlone& alone) {
    std::map<std::string, std::vector<std::pair<double, double>>> by_name;
    std::vector<std::pair<double, double>> all;
    for (std::size_t i = 0; i < step.operations.size(); ++i) {
      const std::string* key = key_of(step, step.operations[i]);
      const auto time = key != nullptr && places.ns[i] > 0 ? alone(*key) : std::nullopt;
      if (time.has_value()) {
        const double ratio = std::clamp(places.ns[i] / *time, kLeastRatio, kMostRatio);
        by_name[name_of(step, step.operations[i])].emplace_back(ratio, places.ns[i]);
        all.emplace_back(ratio, places.ns[i]);
      }
    }
    usual_ = all.empty() ? 1 : weighted_median(all);
    std::vector<std::pair<double, double>> distances;
    for (auto& [name, ratios] : by_name) {
      const double middle = weighted_median(ratios);
      for (const auto& [ratio, weight] : ratios) {
        distances.emplace_back(std::abs(std::log(ratio / middle)), weight);
      }
      by_name_[name] = middle;
    }
    spread_ = distances.empty() ? 1 : weighted_median(std::move(distances));
  }

  double of(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found != by_name_.end() ? found->second : usual_;
  }
  double spread() const { return spread_; }

 private:
  std::map<std::string, double> by_name_;
  double usual_ = 1;
  double spread_ = 0;
};

class Retimer {
 public:
  Retimer(const UnchangedStep& unchanged, const CapturedStep& changed, const TimeAlone& alone)
      : unchanged_(unchanged),
        changed_(changed),
        alone_(alone),
        places_(places_of(unchanged)),
        ratios_(unchanged.step, places_, alone) {
    for (std::size_t i = 0; i < unchanged.step.operations.size(); ++i) {
      const CapturedOperation& operation = unchanged.step.operations[i];
      if (const std::string* key = key_of(unchanged.step, operation); key != nullptr && places_.ns[i] > 0) {
        auto& [sum, count] = in_step_[*key];
        sum += places_.ns[i];
        ++count;
      }
      auto& [sum, count] = python_[{name_of(unchanged.step, operation), operation.part}];
      sum += places_.python_ns[i];
      ++count;
    }
  }

  RetimedStep run() {
    result_.graph = unchanged_.graph;
    result_.spread = ratios_.spread();
    const auto pairs = match_operations(unchanged_.step, changed_);
    std::vector<std::size_t> partner(changed_.operations.size(), kNone);
    std::vector<bool> stays(unchanged_.step.operations.size());
    for (const auto& [before, after] : pairs) {
      partner[after] = before;
      stays[before] = true;
      rescale(before, changed_.operations[after]);
    }
    remove(stays);
    TaskId behind = first_task();
    for (std::size_t i = 0; i < changed_.operations.size(); ++i) {
      if (partner[i] == kNone) {
        behind = insert(changed_.operations[i], behind);
      } else if (const auto& tasks = places_.tasks[partner[i]]; !tasks.empty()) {
        behind = last_on_host(tasks, behind);
      }
    }
    return std::move(result_);
  }

 private:
  void rescale(std::size_t before, const CapturedOperation& after) {
    const std::string* old_key = key_of(unchanged_.step, unchanged_.step.operations[before]);
    const std::string* new_key = key_of(changed_, after);
    if (old_key == nullptr || new_key == nullptr || *old_key == *new_key || places_.ns[before] <= 0) {
      return;
    }
    const auto old_ns = alone_(*old_key);
    const auto new_ns = alone_(*new_key);
    const bool measured = old_ns.has_value() && new_ns.has_value();
    const double factor = measured ? *new_ns / *old_ns : 1;
    for (const TaskId id : places_.tasks[before]) {
      if (is_on_device(result_.graph, id) == has_device_task(before)) {
        graph::Task& task = result_.graph.tasks[id];
        task.duration_ns = std::llround(static_cast<double>(task.duration_ns) * factor);
      }
    }
    count(places_.ns[before], places_.ns[before] * factor, measured);
  }

  bool has_device_task(std::size_t operation) const {
    return std::ranges::any_of(places_.tasks[operation], [&](TaskId id) { return is_on_device(unchanged_.graph, id); });
  }

  void remove(const std::vector<bool>& stays) {
    graph::Selection gone;
    for (std::size_t i = 0; i < stays.size(); ++i) {
      if (stays[i]) {
        continue;
      }
      gone.insert(gone.end(), places_.tasks[i].begin(), places_.tasks[i].end());
      count(places_.ns[i], 0, true);
      remove_python(i);
    }
    std::ranges::sort(gone);
    gone.erase(std::ranges::unique(gone).begin(), gone.end());
    // Their memory stays in the graph: the peak of the changed step is known from its operations.
    for (const TaskId id : gone) {
      result_.graph.tasks[id].duration_ns = 0;
    }
  }

  void remove_python(std::size_t i) {
    const CapturedOperation& operation = unchanged_.step.operations[i];
    const auto& [sum, number] = python_.at({name_of(unchanged_.step, operation), operation.part});
    const double most = kUsualPythonShare * sum / number;
    const double share = places_.python_ns[i] > 0 ? std::min(1.0, most / places_.python_ns[i]) : 0;
    for (const TaskId id : places_.python[i]) {
      graph::Task& task = result_.graph.tasks[id];
      task.duration_ns = std::llround(static_cast<double>(task.duration_ns) * (1 - share));
    }
    result_.changed_before_ns += share * places_.python_ns[i];
  }

  TaskId insert(const CapturedOperation& operation, TaskId behind) {
    const std::string& name = name_of(changed_, operation);
    double ns = 0;
    bool measured = false;
    if (const std::string* key = key_of(changed_, operation)) {
      if (const auto known = in_step_.find(*key); known != in_step_.end()) {
        ns = known->second.first / known->second.second;
        measured = true;
      } else if (const auto time = alone_(*key)) {
        ns = *time * ratios_.of(name);
        measured = true;
      }
    }
    const auto python = python_.find({name, operation.part});
    const double before = python != python_.end() ? python->second.first / python->second.second : 0;
    count(0, ns + before, measured);
    graph::Task task{.duration_ns = std::llround(ns + before), .kind = Kind::kOperation};
    const graph::Task& neighbour = result_.graph.tasks[behind];
    task.name = name_index(name);
    task.line = neighbour.line;
    task.module = neighbour.module;
    task.phase = neighbour.phase;
    return graph::insert_after(result_.graph, behind, task);
  }

  std::uint32_t name_index(const std::string& name) {
    const auto [found, inserted] = names_.try_emplace(name, 0);
    if (inserted) {
      found->second = graph::name_index(result_.graph, name);
    }
    return found->second;
  }

  TaskId first_task() const {
    const auto on_host = [&](const graph::Task& task) {
      return result_.graph.resources[task.resource].type == graph::Resource::Type::kHost;
    };
    const auto found = std::ranges::find_if(result_.graph.tasks, on_host);
    return found == result_.graph.tasks.end() ? 0 : static_cast<TaskId>(found - result_.graph.tasks.begin());
  }

  TaskId last_on_host(const std::vector<TaskId>& tasks, TaskId otherwise) const {
    for (auto at = tasks.rbegin(); at != tasks.rend(); ++at) {
      if (!is_on_device(unchanged_.graph, *at)) {
        return *at;
      }
    }
    return otherwise;
  }

  void count(double before, double after, bool measured) {
    result_.changed_before_ns += before;
    result_.changed_after_ns += after;
    result_.assumed_ns += measured ? 0 : std::max(before, after);
  }

  struct Mean {
    double first = 0;
    int second = 0;
  };

  const UnchangedStep& unchanged_;
  const CapturedStep& changed_;
  const TimeAlone& alone_;
  Places places_;
  Ratios ratios_;
  std::unordered_map<std::string, Mean> in_step_;            ///< by key
  std::map<std::pair<std::string, StepPart>, Mean> python_;  ///< by name: before it
  std::unordered_map<std::string, std::uint32_t> names_;
  RetimedStep result_;
};

}  // namespace

RetimedStep retime(const UnchangedStep& unchanged, const CapturedStep& changed, const TimeAlone& alone) {
  return Retimer(unchanged, changed, alone).run();
}

}  // namespace ridgeline::whatif
