#include "ingest/recorded_step.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/values/traced_rank.h"
#include "ingest/import_error.h"
#include "ingest/recorded_key.h"

namespace ridgeline::ingest {

namespace {

using recording::Activity;
using recording::kNone;

constexpr std::string_view kAttention = "aten::_scaled_dot_product_";

/// Strings of the trace: the name, and the inputs.
using Identity = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

struct Work {
  std::unordered_map<std::uint32_t, double> ns_by_op;         ///< by op; of kernels that none launched, see by_kernel
  std::map<std::uint32_t, std::pair<int, double>> by_kernel;  ///< by string of `columns`: how many, and their time
  double ns = 0;
  double communication_ns = 0;
  double transfer_ns = 0;
};

class Steps {
 public:
  Steps(const Trace& trace, const HostSweep& host, const recording::Columns& columns)
      : trace_(trace), host_(host), from_(columns), works_(columns.iteration_start.size()) {
    for (const TraceInputs& inputs : trace.inputs) {
      inputs_.emplace(inputs.event, &inputs);
    }
  }

  void add_activities(std::uint32_t device) {
    bool has_launch = false;
    for (std::size_t i = 0; i < from_.activity_kind.size(); ++i) {
      const std::uint32_t call = from_.activity_call[i];
      has_launch = has_launch || call != kNone;
      const auto step = step_at(call == kNone ? from_.activity_start[i] : from_.call_start[call]);
      if (has_launch && from_.activity_device[i] == device && step) {
        add_activity(works_[*step], i, call == kNone ? kNone : whole_operation(from_.call_op[call]));
      }
    }
  }

  RecordedStep middle() const {
    std::vector<const Work*> sorted;
    for (const Work& work : works_) {
      sorted.push_back(&work);
    }
    std::ranges::stable_sort(sorted, {}, &Work::ns);
    if (sorted.empty() || sorted.back()->ns <= 0) {
      throw ImportError(
          "The trace has no kernels of a GPU in its steps: record it on a GPU, which the profiler's activities have to "
          "name: ProfilerActivity.CUDA, also with ROCm, or ProfilerActivity.XPU.");
    }
    const Work& work = *sorted[(sorted.size() - 1) / 2];
    return {.steps = static_cast<int>(works_.size()),
            .ns = work.ns,
            .low_ns = sorted.front()->ns,
            .high_ns = sorted.back()->ns,
            .operations = operations(work),
            .communication_ns = work.communication_ns,
            .transfer_ns = work.transfer_ns};
  }

 private:
  std::optional<std::size_t> step_at(std::uint64_t time) const {
    const auto after = std::ranges::upper_bound(from_.iteration_start, time);
    const auto step = static_cast<std::size_t>(after - from_.iteration_start.begin()) - 1;
    return after == from_.iteration_start.begin() || time >= from_.iteration_end[step] ? std::nullopt
                                                                                       : std::optional(step);
  }

  /// The operation of attention that it is a part of, else itself.
  std::uint32_t whole_operation(std::uint32_t op) const {
    for (std::uint32_t outer = op; outer != kNone; outer = from_.op_parent[outer]) {
      if (name_of(outer).starts_with(kAttention)) {
        return outer;
      }
    }
    return op;
  }

  std::string_view name_of(std::uint32_t op) const { return trace_.strings[trace_.events[host_.op_event[op]].name]; }

  void add_activity(Work& work, std::size_t activity, std::uint32_t op) const {
    const auto ns = static_cast<double>(from_.activity_end[activity] - from_.activity_start[activity]);
    const auto kind = static_cast<Activity>(from_.activity_kind[activity]);
    const std::uint32_t name = from_.activity_name[activity];
    if (kind == Activity::kHostToDevice || kind == Activity::kDeviceToHost) {
      work.transfer_ns += ns;
    } else if (kind == Activity::kKernel && analysis::is_collective_kernel(text(name))) {
      work.communication_ns += ns;
    } else {
      work.ns += ns;
      if (op == kNone) {
        auto& [count, total] = work.by_kernel[name];
        ++count;
        total += ns;
      } else {
        work.ns_by_op[op] += ns;
      }
    }
  }

  /// A string of the recording.
  std::string_view text(std::uint32_t index) const {
    const std::uint32_t begin = index == 0 ? 0 : from_.string_ends[index - 1];
    return {reinterpret_cast<const char*>(from_.string_bytes.data()) + begin, from_.string_ends[index] - begin};
  }

  Identity identity(std::uint32_t op) const {
    const std::uint32_t event = host_.op_event[op];
    const auto found = inputs_.find(event);
    const TraceInputs inputs = found == inputs_.end() ? TraceInputs() : *found->second;
    return {trace_.events[event].name, inputs.sizes, inputs.types, inputs.strides, inputs.values};
  }

  std::vector<RecordedOperation> operations(const Work& work) const {
    std::map<Identity, std::pair<int, double>> grouped;
    for (const auto& [op, ns] : work.ns_by_op) {
      auto& [count, total] = grouped[identity(op)];
      ++count;
      total += ns;
    }
    std::vector<RecordedOperation> all;
    for (const auto& [what, time] : grouped) {
      const auto& [name, sizes, types, strides, values] = what;
      const std::vector<std::string>& strings = trace_.strings;
      all.push_back(
          {.name = strings[name],
           .key = recorded_key(strings[name], {strings[sizes], strings[types], strings[strides], strings[values]}),
           .has_shapes = sizes != 0,
           .count = time.first,
           .ns = time.second / time.first});
    }
    for (const auto& [name, time] : work.by_kernel) {
      all.push_back({.name = std::string(text(name)), .count = time.first, .ns = time.second / time.first});
    }
    std::ranges::stable_sort(all, std::greater(), [](const RecordedOperation& one) { return one.ns * one.count; });
    return all;
  }

  const Trace& trace_;
  const HostSweep& host_;
  const recording::Columns& from_;
  std::unordered_map<std::uint32_t, const TraceInputs*> inputs_;  ///< by event
  std::vector<Work> works_;                                       ///< by step
};

}  // namespace

RecordedStep recorded_step(const Trace& trace, const HostSweep& host, const recording::Columns& columns,
                           std::uint32_t device) {
  Steps steps(trace, host, columns);
  steps.add_activities(device);
  RecordedStep step = steps.middle();
  if (trace.inputs.empty()) {
    throw ImportError(
        trace.source == TraceSource::kNsightSystems
            ? "A report of Nsight Systems has no shapes of operations. Record a trace with torch.profiler: "
              "profile(record_shapes=True)."
            : "The trace has no shapes of operations. Record it again with "
              "torch.profiler.profile(record_shapes=True).");
  }
  return step;
}

}  // namespace ridgeline::ingest
