#include "step/graph/from_recording.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/attribution/attribution.h"
#include "analysis/attribution/parallel_threads.h"
#include "analysis/attribution/timeline.h"
#include "analysis/breakdown/breakdown.h"
#include "analysis/device/device_timeline.h"
#include "step/graph/host_spans.h"

namespace ridgeline::step {

namespace {

using analysis::CostKey;
using recording::Activity;
using recording::kNone;
using recording::Recording;

/// Kernels that follow each other on a busy stream are no farther apart: what waits longer waits for its launch.
constexpr std::int64_t kBackToBackNs = 4'000;

/// Nor are those farther apart that had been launched kLateTimes their distance before.
constexpr std::int64_t kLateNs = 50'000;
constexpr std::int64_t kLateTimes = 10;

/// The iterations that the profile uses, and what the chosen one consists of.
struct ChosenIteration {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::vector<analysis::HostPieces> pieces;                              ///< by thread
  std::unordered_map<CostKey, double, analysis::CostKeyHash> mean_ns{};  ///< of thread 0, over all that are used
};

std::size_t median_iteration(const Recording& recording, std::vector<std::size_t> iterations) {
  const auto length = [&](std::size_t i) { return recording.iteration_end()[i] - recording.iteration_start()[i]; };
  const auto middle = iterations.begin() + static_cast<std::ptrdiff_t>(iterations.size() / 2);
  std::ranges::nth_element(iterations, middle, {}, length);
  return *middle;
}

class Builder {
 public:
  /// `iteration`: the one; absent: the median.
  Builder(const Recording& recording, const analysis::SourceScope& scope, double bare_ns,
          std::optional<std::size_t> iteration = std::nullopt)
      : recording_(recording),
        scope_(scope),
        bare_ns_(bare_ns),
        wanted_(iteration),
        attribution_(analysis::attribute(recording, scope)),
        walk_(recording, attribution_) {
    graph_.names.emplace_back();
    graph_.lines.emplace_back();
    graph_.modules.emplace_back();
    graph_.operations.emplace_back();
  }

  Graph run() {
    choose();
    const HostSpans spans = host_spans(recording_, iteration_.pieces);
    add_threads(spans);
    add_operations();
    add_activities();
    hand_over(spans);
    connect_waits(spans);
    add_memory();
    scale();
    return std::move(graph_);
  }

 private:
  void choose() {
    const std::vector<std::size_t> iterations =
        wanted_ ? std::vector{*wanted_} : analysis::chosen_iterations(recording_);
    const std::size_t chosen = median_iteration(recording_, iterations);
    iteration_.begin = recording_.iteration_start()[chosen];
    iteration_.end = recording_.iteration_end()[chosen];
    graph_.recorded_ns = static_cast<std::int64_t>(iteration_.end - iteration_.begin);
    iteration_.pieces.resize(std::max<std::size_t>(1, recording_.thread_torch_id().size()));
    for (const std::size_t iteration : iterations) {
      analysis::HostPieces pieces = walk_.take(iteration);
      for (const analysis::HostPiece& piece : pieces.pieces) {
        iteration_.mean_ns[piece.key] += piece.ns / static_cast<double>(iterations.size());
      }
      if (iteration == chosen) {
        iteration_.pieces[0] = std::move(pieces);
      }
    }
    const std::vector<std::uint16_t> parallel = analysis::parallel_threads(recording_, attribution_);
    for (std::size_t i = 1; i < iteration_.pieces.size(); ++i) {
      const auto thread = static_cast<std::uint16_t>(i);
      if (std::ranges::binary_search(parallel, thread)) {
        continue;
      }
      iteration_.pieces[i] = analysis::IterationWalk(recording_, attribution_, thread).take(chosen);
    }
  }

  // ---- where a task belongs ----------------------------------------------------------------------------------------

  std::uint32_t name_of(std::uint32_t string) {
    const auto [found, inserted] = names_.try_emplace(string, static_cast<std::uint32_t>(graph_.names.size()));
    if (inserted) {
      graph_.names.emplace_back(recording_.string(string));
    }
    return string == 0 ? 0 : found->second;
  }

  std::uint32_t line_of(analysis::LineId line) {
    if (line == 0) {
      return 0;
    }
    const auto [found, inserted] = lines_.try_emplace(line, static_cast<std::uint32_t>(graph_.lines.size()));
    if (inserted) {
      graph_.lines.push_back(analysis::location_of(line, recording_, walk_.tree(), scope_));
    }
    return found->second;
  }

  std::uint32_t module_of(analysis::TreeNode node) {
    const std::uint32_t instance = analysis::innermost_module(walk_.tree(), node);
    if (instance == 0) {
      return 0;
    }
    const auto [found, inserted] = modules_.try_emplace(instance, static_cast<std::uint32_t>(graph_.modules.size()));
    if (inserted) {
      graph_.modules.emplace_back(analysis::module_name(recording_, instance));
    }
    return found->second;
  }

  Task task_of(const CostKey& key, Kind kind, std::uint32_t name) {
    Task task;
    task.kind = kind;
    task.name = name_of(name);
    task.line = line_of(walk_.tree()[key.owner].self_line);
    task.module = module_of(key.owner);
    task.phase = key.phase;
    return task;
  }

  std::uint16_t resource(const std::string& name, Resource::Type type) {
    const auto [found, inserted] = resources_.try_emplace(name, static_cast<std::uint16_t>(graph_.resources.size()));
    if (inserted) {
      graph_.resources.push_back({name, type});
    }
    return found->second;
  }

  // ---- hosts -------------------------------------------------------------------------------------------------------

  /// A task with its place in the recording.
  struct Placed {
    TaskId task;
    std::uint64_t begin;
    std::uint64_t end;
  };

  TaskId append(Task task, std::uint16_t resource, TaskId& last) {
    const auto id = static_cast<TaskId>(graph_.tasks.size());
    task.resource = resource;
    graph_.tasks.push_back(task);
    if (last != kNoTask) {
      graph_.tasks[last].next = id;
    }
    last = id;
    return id;
  }

  void add_threads(const HostSpans& spans) {
    placed_.resize(spans.size());
    for (std::size_t thread = 0; thread < spans.size(); ++thread) {
      if (thread != 0 && spans[thread].empty()) {
        continue;
      }
      const std::uint16_t host = resource("thread " + std::to_string(thread), Resource::Type::kHost);
      TaskId last = kNoTask;
      if (thread == 0) {
        const TaskId start = append(Task{.kind = Kind::kMark}, host, last);
        placed_[0].push_back({start, iteration_.begin, iteration_.begin});
      }
      for (const HostSpan& span : spans[thread]) {
        const std::uint32_t name = span.call != kNone ? recording_.call_name()[span.call] : span.key.operation;
        Task task = task_of(span.key, span.kind, name);
        task.duration_ns = std::llround(span.ns);
        const TaskId id = append(task, host, last);
        placed_[thread].push_back({id, span.begin, span.end});
        if (span.kind == Kind::kCall) {
          launches_.try_emplace(span.call, placed_[thread].back());  // the first part of the call launches
        }
      }
      if (thread == 0) {
        graph_.end = append(Task{.kind = Kind::kMark}, host, last);
      }
    }
  }

  /// The operations of the iteration, and which of them each task of a host is in.
  void add_operations() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t op = 0; op < recording_.op_start().size(); ++op) {
      if (recording_.op_start()[op] >= iteration_.begin && recording_.op_start()[op] < iteration_.end) {
        order.push_back(op);
      }
    }
    std::ranges::stable_sort(order, {}, [&](std::uint32_t op) { return recording_.op_start()[op]; });
    std::vector<std::vector<std::uint32_t>> of_thread(placed_.size());
    for (const std::uint32_t op : order) {
      const auto parent = operations_.find(recording_.op_parent()[op]);
      operations_[op] = static_cast<std::uint32_t>(graph_.operations.size());
      graph_.operations.push_back(
          {name_of(recording_.op_name()[op]), parent == operations_.end() ? 0 : parent->second, op});
      if (recording_.op_thread()[op] < of_thread.size()) {
        of_thread[recording_.op_thread()[op]].push_back(op);
      }
    }
    for (std::size_t thread = 0; thread < placed_.size(); ++thread) {
      std::size_t next = 0;
      std::vector<std::uint32_t> open;
      for (const Placed& placed : placed_[thread]) {
        const auto begun = [&] {
          return next < of_thread[thread].size() && recording_.op_start()[of_thread[thread][next]] <= placed.begin;
        };
        while (begun()) {
          open.push_back(of_thread[thread][next++]);
        }
        while (!open.empty() && recording_.op_end()[open.back()] <= placed.begin) {
          open.pop_back();  // what is outside of one that is still open is looked at when that has ended
        }
        graph_.tasks[placed.task].operation = open.empty() ? 0 : operations_[open.back()];
      }
    }
  }

  /// The last task of a thread that was over at `time`; null when there is none.
  const Placed* last_over(std::size_t thread, std::uint64_t time) const {
    const auto& placed = placed_[thread];
    const auto after = std::ranges::upper_bound(placed, time, {}, &Placed::end);
    return after == placed.begin() ? nullptr : &*std::prev(after);
  }

  void depend(TaskId from, TaskId to, std::uint64_t from_end, std::uint64_t to_begin) {
    const std::int64_t lag = to_begin > from_end ? static_cast<std::int64_t>(to_begin - from_end) : 0;
    graph_.dependencies.push_back({from, to, lag});
  }

  /// Work of another thread after idle time waits for what was over last before it: of thread 0, or of a device.
  void hand_over(const HostSpans& spans) {
    std::vector<Placed> activities = placed_activities();
    for (std::size_t thread = 1; thread < spans.size(); ++thread) {
      for (std::size_t i = 0; i < spans[thread].size(); ++i) {
        const Placed& work = placed_[thread][i];
        if (!spans[thread][i].after_idle && i > 0) {
          continue;
        }
        const Placed* before = last_over(0, work.begin);
        const auto after = std::ranges::upper_bound(activities, work.begin, {}, &Placed::end);
        if (after != activities.begin() && (before == nullptr || std::prev(after)->end > before->end)) {
          before = &*std::prev(after);
        }
        if (before != nullptr) {
          depend(before->task, work.task, before->end, work.begin);
        }
      }
    }
  }

  /// The activities of devices that tasks of hosts launched in the iteration, in the order in which they ended.
  std::vector<Placed> placed_activities() const {
    std::vector<Placed> placed;
    for (const auto& [activity, task] : activity_tasks_) {
      const std::uint64_t begin = recording_.activity_start()[activity];
      const auto launch = launches_.find(recording_.activity_call()[activity]);
      if (launch != launches_.end() && launch->second.begin < begin && begin < recording_.activity_end()[activity]) {
        placed.push_back({task, begin, recording_.activity_end()[activity]});
      }
    }
    std::ranges::sort(placed, {}, [](const Placed& one) { return std::pair(one.end, one.task); });
    return placed;
  }

  void connect_waits(const HostSpans& spans) {
    for (std::size_t thread = 0; thread < spans.size(); ++thread) {
      const std::size_t offset = thread == 0 ? 1 : 0;  // the mark at the start
      for (std::size_t i = 0; i < spans[thread].size(); ++i) {
        const HostSpan& span = spans[thread][i];
        if (span.kind != Kind::kWait) {
          continue;
        }
        const TaskId task = placed_[thread][i + offset].task;
        if (span.activity != kNone) {
          if (const auto found = activity_tasks_.find(span.activity); found != activity_tasks_.end()) {
            depend(found->second, task, recording_.activity_end()[span.activity], span.end);
          }
          continue;
        }
        const std::uint64_t begin = i + offset == 0 ? iteration_.begin : placed_[thread][i + offset - 1].end;
        wait_for_threads(thread, task, begin, span.end);
      }
    }
  }

  /// A wait within [begin, end] is over when those threads are that worked in it, or the last of all where none did.
  void wait_for_threads(std::size_t thread, TaskId task, std::uint64_t begin, std::uint64_t end) {
    std::vector<const Placed*> found;
    for (std::size_t other = 0; other < placed_.size(); ++other) {
      if (const Placed* before = other == thread ? nullptr : last_over(other, end)) {
        found.push_back(before);
      }
    }
    std::ranges::stable_sort(found, std::greater{}, &Placed::end);
    for (const Placed* before : found) {
      if (before == found.front() || before->end >= begin) {
        depend(before->task, task, before->end, end);
      }
    }
  }

  // ---- devices -----------------------------------------------------------------------------------------------------

  struct Stream {
    TaskId last = kNoTask;
    std::uint64_t end = 0;
  };

  /// Launched in the iteration, or running in it although it was launched before.
  bool belongs(std::uint32_t activity) const {
    return launches_.contains(recording_.activity_call()[activity]) ||
           (recording_.activity_start()[activity] < iteration_.end &&
            recording_.activity_end()[activity] > iteration_.begin);
  }

  void add_activities() {
    for (std::uint32_t activity = 0; activity < recording_.activity_start().size(); ++activity) {
      if (belongs(activity)) {
        add_activity(activity);
      }
    }
  }

  void add_activity(std::uint32_t activity) {
    const std::uint32_t call = recording_.activity_call()[activity];
    const std::uint64_t started = std::max(recording_.activity_start()[activity], iteration_.begin);
    const std::uint32_t answers = analysis::answering_call(recording_, activity);
    const CostKey key =
        answers == kNone ? CostKey{} : analysis::owner_of_call(answers, recording_, attribution_, walk_.tree());
    const bool kernel = static_cast<Activity>(recording_.activity_kind()[activity]) == Activity::kKernel;
    Task task = task_of(key, kernel ? Kind::kKernel : Kind::kCopy, recording_.activity_name()[activity]);
    if (const auto asked = launches_.find(call); asked != launches_.end()) {
      task.operation = graph_.tasks[asked->second.task].operation;
    }
    const std::string name = "device " + std::to_string(recording_.activity_device()[activity]) + ", stream " +
                             std::to_string(recording_.activity_stream()[activity]);
    const std::uint16_t place = resource(name, Resource::Type::kDevice);
    Stream& stream = streams_[place];
    const Stream before = stream;
    // Where a kernel begins before the last one of its stream ends (programmatic dependent launch), the time of both
    // together counts once.
    const std::uint64_t begin = std::max(started, before.end);
    const std::uint64_t end = std::max(recording_.activity_end()[activity], begin);
    task.duration_ns = static_cast<std::int64_t>(end - begin);
    const TaskId id = append(task, place, stream.last);
    stream.end = end;
    activity_tasks_[activity] = id;
    const auto launch = launches_.find(call);
    const std::int64_t gap = before.last == kNoTask ? std::numeric_limits<std::int64_t>::max()
                             : begin > before.end   ? static_cast<std::int64_t>(begin - before.end)
                                                    : 0;
    const bool by_stream = gap <= kBackToBackNs || began_late(launch, before, gap) ||
                           (launch == launches_.end() && before.last != kNoTask);
    if (before.last != kNoTask) {
      graph_.tasks[before.last].gap_ns = by_stream ? gap : 0;
    }
    if (launch == launches_.end()) {
      if (before.last == kNoTask) {
        depend(placed_[0].front().task, id, iteration_.begin, begin);
      }
      return;
    }
    // On a busy stream the launch is not what the activity waited for, and its own latency does not show.
    const Placed& asked = launch->second;
    const TaskId other = by_stream ? kNoTask : ended_just_before(place, begin);
    if (other != kNoTask) {
      graph_.dependencies.push_back({other, id, static_cast<std::int64_t>(begin - streams_end(other))});
    }
    depend(asked.task, id, asked.end, by_stream || other != kNoTask ? asked.end : begin);
  }

  using Launch = std::unordered_map<std::uint32_t, Placed>::const_iterator;

  /// A copy begins some time after the kernel before it. Where it had been launched long before that, the stream
  /// allowed it all the same.
  bool began_late(Launch launch, const Stream& before, std::int64_t gap) const {
    return launch != launches_.end() && before.last != kNoTask && gap <= kLateNs &&
           launch->second.end + static_cast<std::uint64_t>(kLateTimes * gap) <= before.end;
  }

  /// The task of another stream that ended so shortly before that an activity may have waited for it.
  TaskId ended_just_before(std::uint16_t place, std::uint64_t begin) const {
    for (const auto& [other, stream] : streams_) {
      if (other != place && stream.end <= begin && begin - stream.end <= static_cast<std::uint64_t>(kBackToBackNs)) {
        return stream.last;
      }
    }
    return kNoTask;
  }

  std::uint64_t streams_end(TaskId last) const { return streams_.at(graph_.tasks[last].resource).end; }

  // ---- memory ------------------------------------------------------------------------------------------------------

  void add_memory() {
    std::unordered_map<std::uint64_t, std::uint64_t> alive;  // address → bytes
    for (std::size_t i = 0; i < recording_.memory_time().size() && recording_.memory_time()[i] < iteration_.end; ++i) {
      const std::uint64_t bytes = recording_.memory_bytes()[i];
      const std::uint64_t address = recording_.memory_address()[i];
      std::int64_t change = static_cast<std::int64_t>(bytes);
      if (bytes > 0) {
        alive[address] = bytes;
      } else if (const auto block = alive.find(address); block != alive.end()) {
        change = -static_cast<std::int64_t>(block->second);
        alive.erase(block);
      }
      if (change == 0) {
        continue;
      }
      if (recording_.memory_time()[i] < iteration_.begin) {
        graph_.bytes_at_start += change;
      } else {
        add_change(recording_.memory_thread()[i], recording_.memory_time()[i], change);
      }
    }
  }

  void add_change(std::size_t thread, std::uint64_t time, std::int64_t bytes) {
    if (thread >= placed_.size() || placed_[thread].empty()) {
      thread = 0;
    }
    const auto& placed = placed_[thread];
    const auto after = std::ranges::upper_bound(placed, time, {}, &Placed::begin);
    const Placed& task = after == placed.begin() ? *after : *std::prev(after);
    const std::uint64_t length = task.end - task.begin;
    const std::uint64_t passed = time > task.begin ? std::min(time - task.begin, length) : 0;
    const float at = length == 0 ? 0.0F : static_cast<float>(static_cast<double>(passed) / static_cast<double>(length));
    graph_.memory.push_back({task.task, at, bytes});
  }

  // ---- durations ---------------------------------------------------------------------------------------------------

  bool is_alone() const { return graph_.resources.size() == 1; }

  void scale() {
    if (!(bare_ns_ > 0)) {
      return;
    }
    if (is_alone()) {
      scale_to_means();
      return;
    }
    double total = 0;
    for (const analysis::HostPiece& piece : iteration_.pieces[0].pieces) {
      total += piece.ns;
    }
    for (Task& task : graph_.tasks) {
      if (total > 0 && graph_.resources[task.resource].type == Resource::Type::kHost) {
        task.duration_ns = std::llround(static_cast<double>(task.duration_ns) * bare_ns_ / total);
      }
    }
  }

  using LinePhase = std::pair<std::uint32_t, analysis::Phase>;

  /// One thread alone: the tasks of a module's line, phase and operation together take what the profile says of them,
  /// which is a mean of iterations. What only other iterations showed, by samples, goes to the last task of the same
  /// line and phase, or is one task more at the end of its phase.
  void scale_to_means() {
    double total = 0;
    for (const auto& [key, ns] : iteration_.mean_ns) {
      total += ns;
    }
    const double factor = total > 0 ? bare_ns_ / total : 1;
    using Group = std::tuple<std::uint32_t, analysis::Phase, std::uint32_t, std::uint32_t>;
    const auto group_of = [](const Task& task) { return Group{task.line, task.phase, task.module, task.name}; };
    std::map<Group, double> wanted;
    std::map<LinePhase, double> left;
    for (const auto& [key, ns] : iteration_.mean_ns) {
      const Task task = task_of(key, Kind::kPython, key.operation);
      wanted[group_of(task)] += ns * factor;
      left[{task.line, task.phase}] += ns * factor;
    }
    std::map<Group, double> had;
    for (const Task& task : graph_.tasks) {
      had[group_of(task)] += static_cast<double>(task.duration_ns);
    }
    std::map<LinePhase, TaskId> last;
    for (TaskId id = 0; id < graph_.tasks.size(); ++id) {
      Task& task = graph_.tasks[id];
      const Group group = group_of(task);
      if (id == graph_.end || task.duration_ns == 0 || had[group] <= 0) {
        continue;
      }
      task.duration_ns = std::llround(static_cast<double>(task.duration_ns) * wanted[group] / had[group]);
      left[{task.line, task.phase}] -= static_cast<double>(task.duration_ns);
      last[{task.line, task.phase}] = id;
    }
    add_what_is_left(left, last);
  }

  /// `left`: nanoseconds by line and phase; `last`: the last task of each that has one.
  void add_what_is_left(const std::map<LinePhase, double>& left, const std::map<LinePhase, TaskId>& last) {
    std::map<analysis::Phase, TaskId> last_of_phase;
    for (const auto& [of, id] : last) {
      TaskId& latest = last_of_phase.try_emplace(of.second, id).first->second;
      latest = std::max(latest, id);
    }
    for (const auto& [of, ns] : left) {
      const std::int64_t rest = std::llround(ns);
      if (const auto found = last.find(of); found != last.end()) {
        std::int64_t& duration = graph_.tasks[found->second].duration_ns;
        duration = std::max<std::int64_t>(0, duration + rest);
      } else if (rest > 0) {
        const auto behind = last_of_phase.find(of.second);
        Task task{.duration_ns = rest, .line = of.first, .kind = Kind::kPython, .phase = of.second};
        insert_after(graph_, behind != last_of_phase.end() ? behind->second : placed_[0].front().task, task);
      }
    }
  }

  const Recording& recording_;
  const analysis::SourceScope& scope_;
  double bare_ns_;
  std::optional<std::size_t> wanted_;
  analysis::Attribution attribution_;
  analysis::IterationWalk walk_;
  ChosenIteration iteration_;
  Graph graph_;
  std::unordered_map<std::uint32_t, std::uint32_t> names_;
  std::unordered_map<std::uint32_t, std::uint32_t> lines_;
  std::unordered_map<std::uint32_t, std::uint32_t> modules_;
  std::map<std::string, std::uint16_t> resources_;
  std::vector<std::vector<Placed>> placed_;                      ///< by thread, in order of time
  std::unordered_map<std::uint32_t, Placed> launches_;           ///< by call
  std::unordered_map<std::uint32_t, std::uint32_t> operations_;  ///< by op of the recording
  std::unordered_map<std::uint32_t, TaskId> activity_tasks_;
  std::map<std::uint16_t, Stream> streams_;  ///< by resource
};

}  // namespace

Graph graph_of(const Recording& recording, const analysis::SourceScope& scope, double bare_ns) {
  return Builder(recording, scope, bare_ns).run();
}

Graph graph_of_iteration(const Recording& recording, const analysis::SourceScope& scope, std::size_t iteration) {
  return Builder(recording, scope, 0, iteration).run();
}

}  // namespace ridgeline::step
