#include "ingest/import_trace.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ingest/columns_builder.h"
#include "ingest/found_steps.h"
#include "ingest/host_sweep.h"
#include "ingest/import_error.h"
#include "ingest/import_warnings.h"
#include "ingest/impossible_times.h"
#include "ingest/recorded_keys.h"
#include "ingest/step_kernels.h"
#include "ingest/trace_activities.h"
#include "ingest/trace_memory.h"

namespace ridgeline::ingest {

namespace {

constexpr std::size_t kMaxIterations = 100'000;
constexpr double kTypicalShare = 0.05;  ///< of the median: steps that differ by less are alike

class Importer {
 public:
  Importer(Trace trace, const ImportOptions& options) : trace_(std::move(trace)), options_(options) {}

  analysis::RunInput run() {
    prepare();
    find_threads();
    const std::vector<std::string_view> names = file_names();
    const TraceFiles files(names, options_.project_root, options_.current, options_.exists);
    std::vector<analysis::CodePackage> code = packages_in(names, options_.code, files);
    sweep(files);
    add_threads();
    write_calls_and_activities(trace_, host_, builder_);
    add_iterations();
    add_instance_calls();
    const MemoryKnown memory = add_memory();
    analysis::RunInput input;
    input.entry_path = options_.trace_path;
    input.scope.project_root = files.root();
    input.scope.code = std::move(code);
    input.environment = environment();
    input.capacity_bytes = capacity_;
    input.batch_size = std::max(1, options_.batch_size);
    input.batch_size_known = options_.batch_size > 0;
    input.peak_known = memory == MemoryKnown::kAll;
    input.warnings = import_warnings({.source = trace_.source,
                                      .notes = trace_.notes,
                                      .why_no_steps = has_steps_ ? "" : trace_.why_no_steps,
                                      .has_steps = has_steps_,
                                      .has_python = host_.has_python,
                                      .has_call_stacks = host_.has_call_stacks,
                                      .has_operations = !builder_.columns.op_name.empty(),
                                      .has_kernels = !builder_.columns.activity_kind.empty(),
                                      .launches = launches(),
                                      .whole_graphs = trace_.whole_graphs,
                                      .has_device = device_ != kNoNumber,
                                      .has_batch_size = options_.batch_size > 0,
                                      .guessed_files = files.guessed(),
                                      .project_root = files.root(),
                                      .memory = memory,
                                      .losses = trace_.losses,
                                      .damage = trace_.damage});
    for (const std::string& name : options_.code) {
      if (std::ranges::find(input.scope.code, name, &analysis::CodePackage::name) == input.scope.code.end()) {
        input.warnings.push_back("The lines of " + name +
                                 " are not shown: the trace has no file of a package of that name.");
      }
    }
    input.recorded_keys = recorded_keys(trace_, host_.op_event);
    input.runs.push_back(batch_run());
    return input;
  }

  RecordedStep recorded() {
    if (trace_.losses.too_many > 0) {
      throw ImportError(
          fmt::format("The trace is too large: {} of its events or texts could not be read, so its steps "
                      "are not complete. Record fewer steps.",
                      trace_.losses.too_many));
    }
    if (trace_.damage.lost > 0 || trace_.damage.unpaired > 0 || trace_.damage.is_cut_off) {
      throw ImportError("The trace is damaged: " + what_damaged(trace_.damage, trace_.losses) +
                        ". Its steps may not be complete: record it again.");
    }
    prepare();
    find_threads();
    const std::vector<std::string_view> names = file_names();
    sweep(TraceFiles(names, options_.project_root, options_.current, options_.exists));
    write_calls_and_activities(trace_, host_, builder_);
    add_iterations();
    device_ = busiest_device();
    find_device();
    RecordedStep step = recorded_step(trace_, host_, builder_.columns, device_);
    // ROCm may number the only device that it lists as 0, and its kernels otherwise.
    step.device = device_name_.empty() && trace_.devices.size() == 1 ? trace_.devices.front().name : device_name_;
    step.has_steps = has_steps_;
    return step;
  }

 private:
  using Steps = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  ///< start and end

  void prepare() {
    leave_out_impossible_times(trace_);
    const auto is_step = [](const TraceEvent& event) { return event.kind == EventKind::kStep; };
    const bool is_asked = options_.boundary.by != StepBoundary::By::kFound;
    // The steps of a report were found when it was read, of one of its processes.
    if (trace_.source == TraceSource::kNsightSystems || (!is_asked && std::ranges::any_of(trace_.events, is_step))) {
      return;
    }
    for (TraceEvent& event : trace_.events) {
      if (is_step(event)) {
        event.kind = EventKind::kAnnotation;
      }
    }
    StepSearch search = find_steps(trace_, step_events(trace_), options_.boundary);
    check_steps(trace_, search, options_.boundary);
    trace_.why_no_steps = std::move(search.why_none);
    if (search.steps) {
      add_steps(trace_, *search.steps);
    }
  }

  void sweep(const TraceFiles& files) {
    host_ = sweep_host(trace_, threads_, files, externals_of_activities(trace_), builder_, trace_.losses);
  }

  recording::Columns& columns() { return builder_.columns; }

  /// Threads that have more than Python's functions (no event is inside these), that of the steps first, or else the
  /// one with most ops of forward, or else with most ops: backward may have more of them on a thread of its own.
  void find_threads() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ops(trace_.threads.size());
    std::vector<bool> host(trace_.threads.size());
    std::optional<std::uint32_t> stepping =
        trace_.main_thread == kNoNumber ? std::nullopt : std::optional(trace_.main_thread);
    bool has_work = false;
    for (const TraceEvent& event : trace_.events) {
      const bool op = event.kind == EventKind::kOp;
      has_work = has_work || op || is_on_device(event.kind);
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
      const std::string damage = what_damaged(trace_.damage, trace_.losses);
      throw ImportError(
          (damage.empty() ? "" : "The file is damaged: " + damage + ". ") +
          (trace_.source == TraceSource::kNsightSystems
               ? "The report has neither kernels nor operations: nothing ran on the GPU while Nsight Systems recorded, "
                 "or "
                 "CUDA was not traced (nsys profile --trace cuda,nvtx)."
               : "The trace has no operations: nothing ran while the profiler was active, or it was not recorded "
                 "(ProfilerActivity.CPU among its activities)."));
    }
    std::ranges::stable_sort(threads_, [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(a == stepping, ops[a]) > std::pair(b == stepping, ops[b]);
    });
    threads_.resize(std::min<std::size_t>(threads_.size(), std::numeric_limits<std::uint16_t>::max()));
  }

  std::vector<std::string_view> file_names() const {
    std::unordered_set<std::string_view> names;
    std::vector<bool> is_done(trace_.strings.size());
    const auto add = [&](std::string_view frame) {
      std::string_view file;
      std::string_view function;
      std::uint32_t line = 0;
      if (split_frame(frame, file, line, function)) {
        names.insert(file);
      }
    };
    for (const TraceEvent& event : trace_.events) {
      if (event.kind == EventKind::kPython && !is_done[event.name]) {
        is_done[event.name] = true;
        add(trace_.strings[event.name]);
      }
      if (event.stack != 0 && !is_done[event.stack]) {
        is_done[event.stack] = true;
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

  /// Only backward nodes have LibTorch's numbers of threads, as "Fwd thread id": the thread with most forward
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

  /// The steps; without any, everything from the first operation to the end of the last or of the last kernel.
  void add_iterations() {
    Steps steps;
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
        if (event.kind == EventKind::kOp || event.kind == EventKind::kCall || is_on_device(event.kind)) {
          start = std::min(start, event.start);
          end = std::max(end, event.end);
        }
      }
      if (end <= start) {
        throw ImportError("The trace has no operation that took any time.");
      }
      steps.emplace_back(start, end);
    }
    Steps apart;
    for (const auto& [start, end] : steps) {
      const bool follows = apart.empty() || start >= apart.back().second;
      if (follows && apart.size() < kMaxIterations) {
        apart.emplace_back(start, end);
      } else {
        ++trace_.losses.overlapping;
      }
    }
    apart = with_kernels(std::move(apart));
    for (const auto& [start, end] : apart) {
      times_ns_.push_back(static_cast<double>(end - start));
    }
    const bool choose = trace_.source == TraceSource::kNsightSystems && !options_.all_steps;
    for (const auto& [start, end] : choose ? typical(apart) : apart) {
      columns().iteration_start.push_back(start);
      columns().iteration_end.push_back(end);
    }
  }

  /// Without those whose kernels were lost, where others have theirs.
  Steps with_kernels(Steps steps) {
    const std::vector<bool> lost = steps_that_lost_kernels(columns(), steps);
    Steps kept;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!lost[i]) {
        kept.push_back(steps[i]);
      }
    }
    if (kept.size() < steps.size()) {
      trace_.notes.push_back(
          fmt::format("{} of the {} steps {} left out: records of their kernels were lost, which the other steps have.",
                      steps.size() - kept.size(), steps.size(), steps.size() - kept.size() == 1 ? "is" : "are"));
    }
    return kept;
  }

  /// Ranges of a user may hold whatever lies between two steps, such as waits for data of very different lengths. The
  /// steps nearest to the one in the middle are shown, as many shorter as longer ones: a mean over all would describe
  /// none of them.
  Steps typical(const Steps& steps) {
    const auto length = [](const auto& step) { return static_cast<double>(step.second - step.first); };
    Steps sorted = steps;
    std::ranges::stable_sort(sorted, {}, length);
    const std::size_t middle = sorted.size() / 2;
    const double median = length(sorted[middle]);
    std::size_t reach = 0;
    while (reach < middle && middle + reach + 1 < sorted.size() &&
           length(sorted[middle - reach - 1]) >= (1 - kTypicalShare) * median &&
           length(sorted[middle + reach + 1]) <= (1 + kTypicalShare) * median) {
      ++reach;
    }
    Steps near(sorted.begin() + static_cast<std::ptrdiff_t>(middle - reach),
               sorted.begin() + static_cast<std::ptrdiff_t>(middle + reach + 1));
    std::ranges::sort(near);
    if (2 * near.size() < steps.size()) {
      const double mean =
          std::accumulate(times_ns_.begin(), times_ns_.end(), 0.0) / static_cast<double>(times_ns_.size());
      trace_.notes.push_back(
          fmt::format("The steps differ: the one in the middle takes {:.4g} ms, the mean is {:.4g} ms. The figures are "
                      "those of the {} (of {}) nearest to the one in the middle.",
                      median / 1e6, mean / 1e6, near.size(), steps.size()));
    }
    return near;
  }

  void add_instance_calls() {
    const auto iterations = static_cast<std::uint64_t>(columns().iteration_start.size());
    for (const auto& [instance, calls] : host_.module_calls) {
      columns().instance_calls[instance] = (calls + iterations / 2) / iterations;
    }
  }

  /// How many calls launched something on a device.
  std::size_t launches() const {
    return static_cast<std::size_t>(
        std::ranges::count(builder_.columns.call_kind, static_cast<std::uint8_t>(recording::Call::kLaunch)));
  }

  /// The device that most activities are on; without any, the one with most bytes allocated; without that, the first
  /// one if something was launched; else kNoNumber, the CPU.
  std::uint32_t busiest_device() const {
    std::map<std::uint32_t, std::uint64_t> used;
    for (const std::uint32_t device : builder_.columns.activity_device) {
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
    if (used.empty() && launches() > 0) {
      return trace_.devices.empty() ? 0 : trace_.devices.front().index;
    }
    return used.empty() ? kNoNumber
                        : std::ranges::max_element(used, {}, [](const auto& entry) { return entry.second; })->first;
  }

  /// Adds the memory of the device that the profile is about.
  MemoryKnown add_memory() {
    device_ = busiest_device();
    find_device();
    return write_memory(trace_, host_.memory, device_, builder_);
  }

  void find_device() {
    for (const TraceDevice& known : trace_.devices) {
      if (known.index == device_) {
        capacity_ = known.bytes;
        device_name_ = known.name;
      }
    }
  }

  analysis::Environment environment() const {
    analysis::Environment environment;
    // torch calls devices of ROCm "cuda".
    environment.device = device_ == kNoNumber ? "cpu" : trace_.platform == TracePlatform::kXpu ? "xpu" : "cuda";
    environment.device_name = device_name_;
    return environment;
  }

  analysis::BatchRun batch_run() {
    analysis::BatchRun run;
    run.batch_size = std::max(1, options_.batch_size);
    run.times_ns = std::move(times_ns_);
    run.per_round = 1;  // nothing was timed in turns: the interval is of the steps themselves
    trace_ = {};
    host_ = {};
    std::string bytes = recording::serialise(columns());
    builder_.columns = {};
    auto recording = recording::Recording::parse(std::move(bytes));
    if (!recording) {
      throw ImportError("The trace contradicts itself: " + recording.error().message() + ".");
    }
    run.recording = std::move(*recording);
    return run;
  }

  Trace trace_;
  const ImportOptions& options_;
  ColumnsBuilder builder_;
  HostSweep host_;
  std::vector<std::uint32_t> threads_;
  std::vector<double> times_ns_;  ///< of all steps
  bool has_steps_ = false;
  std::uint32_t device_ = kNoNumber;
  std::uint64_t capacity_ = 0;
  std::string device_name_;
};

}  // namespace

analysis::RunInput import_trace(Trace trace, const ImportOptions& options) {
  return Importer(std::move(trace), options).run();
}

RecordedStep recorded_step(Trace trace, const ImportOptions& options) {
  return Importer(std::move(trace), options).recorded();
}

}  // namespace ridgeline::ingest
