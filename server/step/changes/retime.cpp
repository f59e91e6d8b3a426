#include "step/changes/retime.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "step/changes/host_copy.h"
#include "step/changes/operation_scale.h"
#include "step/changes/step_operations.h"
#include "step/changes/task_classes.h"
#include "step/graph/changes.h"

namespace ridgeline::step {

namespace {

using protocol::CapturedOperation;
using protocol::CapturedStep;
using protocol::StepPart;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
/// Relative error of the time of an operation that was not measured.
constexpr double kAssumedError = 0.5;

class Retimer {
 public:
  Retimer(const UnchangedStep& unchanged, const CapturedStep& changed, StandaloneTimes times)
      : unchanged_(unchanged), changed_(changed), times_(times) {}

  RetimedStep run() {
    result_.graph = unchanged_.graph;
    result_.spread = unchanged_.ratios.spread;
    const auto pairs = match_operations(unchanged_.step, changed_);
    slower_ = slower_listing(unchanged_.step, changed_, pairs);
    std::vector<std::size_t> partner(changed_.operations.size(), kNone);
    std::vector<bool> stays(unchanged_.step.operations.size());
    for (const auto& [before, after] : pairs) {
      partner[after] = before;
      stays[before] = true;
      rescale(before, after);
    }
    remove(stays);
    behind_ = first_task();
    for (std::size_t i = 0; i < changed_.operations.size(); ++i) {
      if (partner[i] == kNone) {
        insert(i);
        continue;
      }
      const bool has_other_before =
          i == 0 ? partner[i] != 0 : partner[i - 1] == kNone || partner[i - 1] + 1 != partner[i];
      set_host_time(partner[i], i, has_other_before);
      for (const TaskId id : unchanged_.places.tasks[partner[i]]) {
        (is_on_device(unchanged_.graph, id) ? behind_on_device_ : behind_) = id;
      }
    }
    return std::move(result_);
  }

 private:
  void rescale(std::size_t before, std::size_t after) {
    const std::string* old_key = key_of(unchanged_.step, unchanged_.step.operations[before]);
    const std::string* new_key = key_of(changed_, changed_.operations[after]);
    if (old_key == nullptr || new_key == nullptr || *old_key == *new_key) {
      set_time(before, computing_ns(before) + count_page_faults(before, after));
      return;
    }
    const auto was = times_(*old_key);
    const auto is = times_(*new_key);
    const bool known = was.has_value() && is.has_value();
    const double factor = known ? is->ns / was->ns : size_ratio(*old_key, *new_key);
    if (unchanged_.places.ns[before] <= 0) {
      count_not_found(before, factor);
      return;
    }
    const double computing = computing_ns(before);
    set_time(before, computing * factor + count_page_faults(before, after));
    count(computing, computing * factor, known && !was->is_disturbed && !is->is_disturbed);
  }

  /// Whether what page faults take is known of both steps: else each operation keeps what it has of them.
  bool knows_page_faults() const { return !unchanged_.step.page_fault_ns.empty() && !changed_.page_fault_ns.empty(); }

  double computing_ns(std::size_t before) const {
    return knows_page_faults() ? unchanged_.places.computing_ns[before] : unchanged_.places.ns[before];
  }

  /// Nanoseconds of page faults in an operation of the unchanged step, and in one of the changed step.
  double page_faults_before(std::size_t before) const { return unchanged_.places.ns[before] - computing_ns(before); }
  double page_faults_after(std::size_t after) const { return knows_page_faults() ? page_fault_ns(changed_, after) : 0; }

  /// Page faults of an operation of both steps, ns in the changed one; counts the difference to the unchanged one.
  double count_page_faults(std::size_t before, std::size_t after) {
    const double ns = page_faults_after(after);
    result_.page_faults_ns += ns - page_faults_before(before);
    return ns;
  }

  void set_time(std::size_t before, double ns) {
    const double was = unchanged_.places.ns[before];
    if (was <= 0 || ns == was) {
      return;
    }
    for (const TaskId id : unchanged_.places.tasks[before]) {
      if (is_on_device(result_.graph, id) == has_device_task(before)) {
        Task& task = result_.graph.tasks[id];
        task.duration_ns = std::llround(static_cast<double>(task.duration_ns) * ns / was);
      }
    }
  }

  bool has_device_task(std::size_t operation) const {
    return std::ranges::any_of(unchanged_.places.tasks[operation],
                               [&](TaskId id) { return is_on_device(unchanged_.graph, id); });
  }

  void remove(const std::vector<bool>& stays) {
    Selection gone;
    for (std::size_t i = 0; i < stays.size(); ++i) {
      if (stays[i]) {
        continue;
      }
      gone.insert(gone.end(), unchanged_.places.tasks[i].begin(), unchanged_.places.tasks[i].end());
      count(computing_ns(i), 0, true);
      result_.page_faults_ns -= page_faults_before(i);
      if (unchanged_.places.tasks[i].empty()) {
        count_not_found(i, 0);
      }
      take_host_time(i, unchanged_.places.python_ns[i]);
    }
    std::ranges::sort(gone);
    gone.erase(std::ranges::unique(gone).begin(), gone.end());
    // Their memory stays in the graph: the peak of the changed step is known from its operations.
    for (const TaskId id : gone) {
      result_.graph.tasks[id].duration_ns = 0;
    }
  }

  /// Before an operation of both steps. `has_other_before`: another operation than in the unchanged step.
  void set_host_time(std::size_t before, std::size_t after, bool has_other_before) {
    const auto& was = unchanged_.step.host_ns;
    const auto& is = changed_.host_ns;
    if (was.empty() || is.empty() || !(has_other_before || has_other_host_time(was[before], is[after], slower_))) {
      return;
    }
    const double less_ns = unchanged_.host.before(unchanged_.step, before) - host_ns_before(after);
    take_host_time(before, less_ns);
    result_.hooks_ns += has_other_before ? 0 : std::max(0.0, -less_ns);
  }

  /// The host's time before an operation of the changed step.
  double host_ns_before(std::size_t after) const { return unchanged_.host.before(changed_, after, slower_); }

  /// From what is before operation `i`; less than 0: adds to it.
  void take_host_time(std::size_t i, double ns) {
    const double recorded = unchanged_.places.python_ns[i];
    const double factor = recorded > 0 ? std::max(0.0, 1 - ns / recorded) : 1;
    for (const TaskId id : unchanged_.places.python[i]) {
      Task& task = result_.graph.tasks[id];
      task.duration_ns = std::llround(static_cast<double>(task.duration_ns) * factor);
    }
    if (recorded <= 0 && ns < 0 && !unchanged_.places.tasks[i].empty()) {
      result_.graph.tasks[unchanged_.places.tasks[i].front()].duration_ns -= std::llround(ns);
    }
    result_.host_ns += std::abs(ns);
  }

  void insert(std::size_t i) {
    const CapturedOperation& operation = changed_.operations[i];
    const std::string& name = name_of(changed_, operation);
    if (is_free(name)) {
      return;
    }
    std::optional<double> ns;
    bool measured = false;
    const std::string* key = key_of(changed_, operation);
    if (key != nullptr) {
      if (const auto known = unchanged_.in_step.find(*key); known != unchanged_.in_step.end()) {
        ns = known->second.mean_ns();
        measured = true;
      } else if (const auto time = times_(*key)) {
        ns = time->ns * unchanged_.ratios.of(name);
        measured = !time->is_disturbed;
      }
    }
    double before = host_ns_before(i);
    const double taken = ns.has_value() ? *ns : typical_ns(name);
    count(0, taken, measured);
    const double page_faults = page_faults_after(i);
    result_.page_faults_ns += page_faults;
    if (behind_on_device_ == kNoTask || !is_launched(key, name)) {
      result_.host_ns += before;
      behind_ = append(behind_, name, taken + page_faults + before, Kind::kOperation);
      return;
    }
    before += unchanged_.launches.of(key, name);
    result_.host_ns += before;
    behind_ = append(behind_, name, before, Kind::kOperation);
    const HostCopy copy = key == nullptr ? HostCopy::kNone : host_copy(*key);
    behind_on_device_ = append(behind_on_device_, name, taken, copy == HostCopy::kNone ? Kind::kKernel : Kind::kCopy);
    result_.graph.dependencies.push_back({behind_, behind_on_device_, 0});
    if (copy == HostCopy::kAwaited) {
      behind_ = append(behind_, name, 0, Kind::kWait);
      result_.graph.dependencies.push_back({behind_on_device_, behind_, 0});
    }
  }

  /// Whether a device computes an operation that the unchanged step does not have here. `key` may be null.
  bool is_launched(const std::string* key, const std::string& name) const {
    const LaunchTimes& launches = unchanged_.launches;
    if (key != nullptr && unchanged_.in_step.contains(*key)) {
      return launches.by_key.contains(*key);
    }
    return launches.by_name.contains(name) ||
           (key != nullptr && has_cuda_tensor(*key) && !launches.on_hosts.contains(name));
  }

  /// A task behind another one, of the same line, module and phase.
  TaskId append(TaskId behind, const std::string& name, double ns, Kind kind) {
    Task task{.duration_ns = std::max(0LL, std::llround(ns)), .kind = kind};
    const Task& neighbour = result_.graph.tasks[behind];
    task.name = name_index(name);
    task.line = neighbour.line;
    task.module = neighbour.module;
    task.phase = neighbour.phase;
    return insert_after(result_.graph, behind, task);
  }

  /// What operations of this name take in the unchanged step, on average; 0 where it has none.
  double typical_ns(const std::string& name) const {
    Times times;
    for (std::size_t i = 0; i < unchanged_.step.operations.size(); ++i) {
      if (name_of(unchanged_.step, unchanged_.step.operations[i]) == name) {
        times = {times.ns + unchanged_.places.ns[i], times.count + 1};
      }
    }
    return times.count > 0 ? times.mean_ns() : 0;
  }

  std::uint32_t name_index(const std::string& name) {
    const auto [found, inserted] = names_.try_emplace(name, 0);
    if (inserted) {
      found->second = step::name_index(result_.graph, name);
    }
    return found->second;
  }

  TaskId first_task() const {
    const auto on_host = [&](const Task& task) {
      return result_.graph.resources[task.resource].type == Resource::Type::kHost;
    };
    const auto found = std::ranges::find_if(result_.graph.tasks, on_host);
    return found == result_.graph.tasks.end() ? 0 : static_cast<TaskId>(found - result_.graph.tasks.begin());
  }

  void count(double before, double after, bool measured) {
    result_.changed_before_ns += before;
    result_.changed_after_ns += after;
    if (!measured) {
      // Whether an operation that became larger takes longer at all, and by how much, is not known.
      result_.assumed_ns += std::max(before, after);
      result_.assumed_error_ns += std::max(kAssumedError * std::max(before, after), std::abs(after - before));
    }
  }

  /// An operation of the unchanged step that was not found in the recording: its tasks keep their time, whatever comes
  /// in its place, which takes `factor` times as long.
  void count_not_found(std::size_t before, double factor) {
    const CapturedOperation& operation = unchanged_.step.operations[before];
    const std::string& name = name_of(unchanged_.step, operation);
    const std::string* key = key_of(unchanged_.step, operation);
    const auto alone = key == nullptr || is_free(name) ? std::nullopt : times_(*key);
    if (alone.has_value()) {
      const double ns = alone->ns * unchanged_.ratios.of(name);
      result_.assumed_ns += ns * std::max(1.0, factor);
      result_.assumed_error_ns += ns * std::abs(factor - 1);
    }
  }

  const UnchangedStep& unchanged_;
  const CapturedStep& changed_;
  StandaloneTimes times_;
  std::unordered_map<std::string, std::uint32_t> names_;
  double slower_ = 1;  ///< as HostTime has it
  TaskId behind_ = 0;  ///< the last task on a host of the operations that were placed
  TaskId behind_on_device_ = kNoTask;
  RetimedStep result_;
};

}  // namespace

RetimedStep retime(const UnchangedStep& unchanged, const CapturedStep& changed, StandaloneTimes times) {
  return Retimer(unchanged, changed, times).run();
}

}  // namespace ridgeline::step
