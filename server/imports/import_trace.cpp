#include "imports/import_trace.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "imports/host_sweep.h"
#include "imports/import_error.h"
#include "imports/recording_parts.h"
#include "imports/trace_memory.h"

namespace ridgeline::imports {

namespace {

using base::contains;
using recording::Activity;
using recording::kNone;

constexpr std::size_t kMaxIterations = 100'000;

bool on_device(EventKind kind) { return kind >= EventKind::kKernel; }

std::string counted(std::uint64_t count, const std::string& one, const std::string& many) {
  return count == 1 ? "1 " + one : std::to_string(count) + " " + many;
}

class Importer {
 public:
  Importer(Trace trace, const ImportOptions& options) : trace_(std::move(trace)), options_(options) {}

  analysis::RunInput run() {
    find_threads();
    const TraceFiles files(file_names(), options_.project_root, options_.current, options_.exists);
    host_ = sweep_host(trace_, threads_, files, externals_of_activities(), parts_, trace_.losses);
    add_threads();
    add_calls_and_activities();
    add_iterations();
    add_instance_calls();
    const MemoryKnown memory = add_memory();
    analysis::RunInput input;
    input.entry_path = options_.trace_path;
    input.scope.project_root = files.root();
    input.environment = environment();
    input.capacity_bytes = capacity_;
    input.batch_size = std::max(1, options_.batch_size);
    input.batch_size_known = options_.batch_size > 0;
    input.peak_known = memory == MemoryKnown::kAll;
    add_warnings(files, memory, input.warnings);
    input.runs.push_back(batch_run());
    return input;
  }

 private:
  recording::Columns& columns() { return parts_.columns; }

  /// Threads that have more than Python's functions (no event stands on these), that of the steps first, or else the
  /// one with most ops of forward, or else with most ops: backward may have more of them on a thread of its own.
  void find_threads() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ops(trace_.threads.size());
    std::vector<bool> host(trace_.threads.size());
    std::optional<std::uint32_t> stepping;
    bool has_work = false;
    for (const TraceEvent& event : trace_.events) {
      const bool op = event.kind == EventKind::kOp;
      has_work = has_work || op || on_device(event.kind);
      ops[event.thread].first += op && event.sequence >= 0 && event.number == 0 ? 1 : 0;
      ops[event.thread].second += op ? 1 : 0;
      host[event.thread] = host[event.thread] || (event.kind <= EventKind::kMemory && event.kind != EventKind::kPython);
      if (event.kind == EventKind::kStep) {
        stepping = stepping.value_or(event.thread);
      }
    }
    for (std::uint32_t thread = 0; thread < host.size(); ++thread) {
      if (host[thread]) {
        threads_.push_back(thread);
      }
    }
    if (threads_.empty() || !has_work) {
      throw ImportError(
          "The trace has no operations: nothing ran while the profiler was active, or it was not recorded "
          "(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]).");
    }
    std::ranges::stable_sort(threads_, [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(a == stepping, ops[a]) > std::pair(b == stepping, ops[b]);
    });
    threads_.resize(std::min<std::size_t>(threads_.size(), std::numeric_limits<std::uint16_t>::max()));
  }

  std::vector<std::string_view> file_names() const {
    std::unordered_set<std::string_view> names;
    std::vector<bool> looked_at(trace_.strings.size());
    const auto add = [&](std::string_view frame) {
      std::string_view file;
      std::string_view function;
      std::uint32_t line = 0;
      if (split_frame(frame, file, line, function)) {
        names.insert(file);
      }
    };
    for (const TraceEvent& event : trace_.events) {
      if (event.kind == EventKind::kPython && !looked_at[event.name]) {
        looked_at[event.name] = true;
        add(trace_.strings[event.name]);
      }
      if (event.stack != 0 && !looked_at[event.stack]) {
        looked_at[event.stack] = true;
        std::string_view rest = trace_.strings[event.stack];
        while (!rest.empty()) {
          const std::size_t end = std::min(rest.find(';'), rest.size());
          add(rest.substr(0, end));
          rest.remove_prefix(std::min(end + 1, rest.size()));
        }
      }
    }
    return {names.begin(), names.end()};
  }

  std::unordered_set<std::uint32_t> externals_of_activities() const {
    std::unordered_set<std::uint32_t> calls;
    for (const TraceEvent& event : trace_.events) {
      if (event.kind == EventKind::kCall && event.correlation != kNoNumber) {
        calls.insert(event.correlation);
      }
    }
    std::unordered_set<std::uint32_t> externals;
    for (const TraceEvent& event : trace_.events) {
      if (on_device(event.kind) && event.external != kNoNumber && !calls.contains(event.correlation)) {
        externals.insert(event.external);
      }
    }
    return externals;
  }

  /// LibTorch's numbers of threads are told by backward nodes only, as "Fwd thread id": the thread with most forward
  /// ops of the sequence numbers that they name has it.
  void add_threads() {
    std::unordered_map<std::int64_t, std::uint16_t> made_by;
    recording::Columns& to = columns();
    const auto backward = static_cast<std::uint8_t>(recording::Scope::kBackward);
    for (std::size_t op = 0; op < to.op_name.size(); ++op) {
      if (to.op_scope[op] != backward && to.op_sequence[op] >= 0) {
        made_by.try_emplace(to.op_sequence[op], to.op_thread[op]);
      }
    }
    std::map<std::pair<std::uint16_t, std::uint64_t>, std::uint64_t> votes;
    for (std::size_t op = 0; op < to.op_name.size(); ++op) {
      const auto found = to.op_scope[op] == backward ? made_by.find(to.op_sequence[op]) : made_by.end();
      if (found != made_by.end()) {
        ++votes[{found->second, to.op_forward_thread[op]}];
      }
    }
    to.thread_torch_id.resize(threads_.size());
    for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
      to.thread_torch_id[thread] = (std::uint64_t{1} << 40U) + thread;
    }
    std::unordered_map<std::uint64_t, std::uint64_t> most;  // of each number
    std::vector<std::uint64_t> own(threads_.size());        // of each thread
    for (const auto& [pair, count] : votes) {
      if (count > most[pair.second] && count > own[pair.first]) {
        most[pair.second] = own[pair.first] = count;
        to.thread_torch_id[pair.first] = pair.second;
      }
    }
  }

  struct PendingActivity {
    std::uint32_t event;
    std::uint32_t call;  ///< among host_.calls as they are then
  };

  void add_calls_and_activities() {
    std::unordered_map<std::uint32_t, std::uint32_t> by_correlation;
    for (std::uint32_t i = 0; i < host_.calls.size(); ++i) {
      if (host_.calls[i].correlation != kNoNumber) {
        by_correlation.try_emplace(host_.calls[i].correlation, i);
      }
    }
    std::vector<PendingActivity> activities;
    for (std::uint32_t i = 0; i < trace_.events.size(); ++i) {
      if (on_device(trace_.events[i].kind)) {
        activities.push_back({i, call_of(trace_.events[i], by_correlation)});
      }
    }
    const std::vector<std::uint32_t> place = write_calls();
    std::ranges::stable_sort(activities, {}, [&](const auto& one) { return trace_.events[one.event].start; });
    for (const PendingActivity& activity : activities) {
      write_activity(trace_.events[activity.event], activity.call == kNone ? kNone : place[activity.call]);
    }
  }

  /// The call that asked for an activity. Where the trace has none, but the op, one that takes no time at its start.
  std::uint32_t call_of(const TraceEvent& event, std::unordered_map<std::uint32_t, std::uint32_t>& by_correlation) {
    const auto found = by_correlation.find(event.correlation);
    if (event.correlation != kNoNumber && found != by_correlation.end()) {
      return found->second;
    }
    const auto op = host_.op_of_external.find(event.external);
    if (event.external == kNoNumber || op == host_.op_of_external.end()) {
      return kNone;
    }
    const recording::Columns& from = columns();
    host_.calls.push_back({from.op_thread[op->second], recording::Call::kOther, parts_.text("not recorded"), op->second,
                           from.op_node[op->second], from.op_start[op->second], from.op_start[op->second],
                           event.correlation});
    const auto call = static_cast<std::uint32_t>(host_.calls.size() - 1);
    if (event.correlation != kNoNumber) {
      by_correlation.emplace(event.correlation, call);
    }
    return call;
  }

  /// Where each call went.
  std::vector<std::uint32_t> write_calls() {
    std::vector<std::uint32_t> order(host_.calls.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::ranges::stable_sort(order, {},
                             [&](std::uint32_t i) { return std::pair(host_.calls[i].thread, host_.calls[i].start); });
    std::vector<std::uint32_t> place(order.size());
    recording::Columns& to = columns();
    for (const std::uint32_t i : order) {
      const PendingCall& call = host_.calls[i];
      place[i] = static_cast<std::uint32_t>(to.call_name.size());
      to.call_thread.push_back(call.thread);
      to.call_kind.push_back(static_cast<std::uint8_t>(call.kind));
      to.call_name.push_back(call.name);
      to.call_op.push_back(call.op);
      to.call_node.push_back(call.node);
      to.call_start.push_back(call.start);
      to.call_end.push_back(call.end);
    }
    return place;
  }

  static Activity kind_of(const TraceEvent& event, std::string_view name) {
    if (event.kind == EventKind::kKernel) {
      return Activity::kKernel;
    }
    if (event.kind == EventKind::kSet) {
      return Activity::kSet;
    }
    if (contains(name, "HtoD") || contains(name, "HostToDevice")) {
      return Activity::kHostToDevice;
    }
    return contains(name, "DtoH") || contains(name, "DeviceToHost") ? Activity::kDeviceToHost
                                                                    : Activity::kDeviceToDevice;
  }

  void write_activity(const TraceEvent& event, std::uint32_t call) {
    recording::Columns& to = columns();
    const std::string& name = trace_.strings[event.name];
    to.activity_kind.push_back(static_cast<std::uint8_t>(kind_of(event, name)));
    to.activity_name.push_back(parts_.text(name));
    to.activity_device.push_back(event.device);
    to.activity_stream.push_back(event.stream);
    to.activity_call.push_back(call);
    to.activity_start.push_back(event.start);
    to.activity_end.push_back(event.end);
    to.activity_bytes.push_back(event.bytes > 0 ? static_cast<std::uint64_t>(event.bytes) : 0);
  }

  /// The steps; without any, everything from the first operation to the end of the last or of the last kernel.
  void add_iterations() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> steps;
    for (const TraceEvent& event : trace_.events) {
      if (event.kind == EventKind::kStep && event.thread == threads_.front() && event.end > event.start) {
        steps.emplace_back(event.start, event.end);
      }
    }
    std::ranges::sort(steps);
    has_steps_ = !steps.empty();
    if (!has_steps_) {
      std::uint64_t start = std::numeric_limits<std::uint64_t>::max();
      std::uint64_t end = 0;
      for (const TraceEvent& event : trace_.events) {
        if (event.kind == EventKind::kOp || event.kind == EventKind::kCall || on_device(event.kind)) {
          start = std::min(start, event.start);
          end = std::max(end, event.end);
        }
      }
      if (end <= start) {
        throw ImportError("The trace has no operation that took any time.");
      }
      steps.emplace_back(start, end);
    }
    recording::Columns& to = columns();
    for (const auto& [start, end] : steps) {
      const bool follows = to.iteration_end.empty() || start >= to.iteration_end.back();
      if (follows && to.iteration_start.size() < kMaxIterations) {
        to.iteration_start.push_back(start);
        to.iteration_end.push_back(end);
      } else {
        ++trace_.losses.overlapping;
      }
    }
  }

  void add_instance_calls() {
    const auto iterations = static_cast<std::uint64_t>(columns().iteration_start.size());
    for (const auto& [instance, calls] : host_.module_calls) {
      columns().instance_calls[instance] = (calls + iterations / 2) / iterations;
    }
  }

  /// The device that most activities are on; without any, the one with most bytes allocated; else kNoNumber, the CPU.
  std::uint32_t busiest_device() const {
    std::map<std::uint32_t, std::uint64_t> used;
    for (const std::uint32_t device : parts_.columns.activity_device) {
      ++used[device];
    }
    if (used.empty()) {
      for (const PendingMemory& pending : host_.memory) {
        const TraceEvent& event = trace_.events[pending.event];
        if (event.device != kNoNumber) {
          used[event.device] += static_cast<std::uint64_t>(std::max<std::int64_t>(event.bytes, 0));
        }
      }
    }
    return used.empty() ? kNoNumber
                        : std::ranges::max_element(used, {}, [](const auto& entry) { return entry.second; })->first;
  }

  /// Of the device that the profile is about.
  MemoryKnown add_memory() {
    device_ = busiest_device();
    for (const TraceDevice& known : trace_.devices) {
      if (known.index == device_) {
        capacity_ = known.bytes;
        device_name_ = known.name;
      }
    }
    return write_memory(trace_, host_.memory, device_, parts_);
  }

  analysis::Environment environment() const {
    analysis::Environment environment;
    environment.device = device_ == kNoNumber ? "cpu" : "cuda";
    environment.device_name = device_name_;
    return environment;
  }

  void add_warnings(const TraceFiles& files, MemoryKnown memory, std::vector<std::string>& warnings) const {
    warnings.emplace_back(
        "Imported from a trace of torch.profiler: all times are those of the run under that profiler, which slows the "
        "host down. There is no bare time to scale them to.");
    if (!has_steps_) {
      warnings.emplace_back(
          "The trace has no steps (schedule, and profiler.step() after each iteration): all of it is shown as one "
          "iteration.");
    }
    if (host_.has_python) {
      warnings.emplace_back(
          "Lines are those where functions begin: torch.profiler does not tell which line of a function ran.");
    } else if (!host_.has_call_stacks) {
      warnings.emplace_back("The trace has no Python stacks (with_stack=True), so no line of yours can be named.");
    }
    if ((host_.has_python || host_.has_call_stacks) && files.guessed()) {
      warnings.emplace_back("None of the trace's files lie under " + files.root() +
                            ": whatever is of no known library is taken as yours. --project-root says where they are.");
    }
    if (options_.batch_size == 0) {
      warnings.emplace_back(
          "A trace does not tell the batch size, so throughput is unknown: --batch-size N says how many samples an "
          "iteration has.");
    }
    if (device_ != kNoNumber && parts_.columns.activity_kind.empty()) {
      warnings.emplace_back(
          "The trace has no kernels (ProfilerActivity.CUDA), so nothing is known of the device but its memory.");
    }
    add_memory_warning(memory, warnings);
    add_losses(warnings);
  }

  static void add_memory_warning(MemoryKnown memory, std::vector<std::string>& warnings) {
    if (memory == MemoryKnown::kNothing) {
      warnings.emplace_back("The trace has no memory events (profile_memory=True), so nothing is known of memory.");
    } else if (memory == MemoryKnown::kChanges) {
      warnings.emplace_back(
          "The trace does not tell what was allocated before it began, so the peak is unknown: memory of lines and "
          "modules is what was allocated in the trace.");
    } else {
      warnings.emplace_back(
          "What was allocated before the trace began stands as weights; a trace does not tell parameters, gradients "
          "and inputs apart.");
    }
  }

  void add_losses(std::vector<std::string>& warnings) const {
    const TraceLosses& losses = trace_.losses;
    const auto tell = [&](std::uint64_t count, const std::string& what) {
      if (count > 0) {
        warnings.emplace_back(counted(count, "event of the trace ", "events of the trace ") + what + ".");
      }
    };
    tell(losses.without_time, "without a time, left out");
    tell(losses.negative, "with a negative duration, left out");
    tell(losses.overlapping, "that overlap others of their thread, cut");
    tell(losses.too_many, "beyond what is read of one, left out");
  }

  analysis::BatchRun batch_run() {
    analysis::BatchRun run;
    run.batch_size = std::max(1, options_.batch_size);
    const recording::Columns& from = columns();
    for (std::size_t i = 0; i < from.iteration_start.size(); ++i) {
      run.times_ns.push_back(static_cast<double>(from.iteration_end[i] - from.iteration_start[i]));
    }
    run.per_round = static_cast<int>(run.times_ns.size());  // nothing was timed in turns
    trace_ = {};
    host_ = {};
    std::string bytes = recording::serialise(columns());
    parts_.columns = {};
    std::string error;
    auto recording = recording::Recording::parse(std::move(bytes), error);
    if (!recording.has_value()) {
      throw ImportError("The trace contradicts itself: " + error + ".");
    }
    run.recording = *std::move(recording);
    return run;
  }

  Trace trace_;
  const ImportOptions& options_;
  RecordingParts parts_;
  HostSweep host_;
  std::vector<std::uint32_t> threads_;
  bool has_steps_ = false;
  std::uint32_t device_ = kNoNumber;
  std::uint64_t capacity_ = 0;
  std::string device_name_;
};

}  // namespace

analysis::RunInput import_trace(Trace trace, const ImportOptions& options) {
  return Importer(std::move(trace), options).run();
}

}  // namespace ridgeline::imports
