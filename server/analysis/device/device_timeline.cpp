#include "analysis/device/device_timeline.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ridgeline::analysis {

namespace {

using recording::Activity;
using recording::kNone;
using recording::Recording;

/// The device with most activities, and how many others have any.
std::optional<std::pair<std::uint32_t, int>> busiest_device(const Recording& recording) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const std::uint32_t device : recording.activity_device()) {
    ++counts[device];
  }
  if (counts.empty()) {
    return std::nullopt;
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  return std::pair{most->first, static_cast<int>(counts.size()) - 1};
}

class DeviceTimelineBuilder {
 public:
  DeviceTimelineBuilder(const Recording& recording, const Attribution& attribution, const CallTree& tree)
      : recording_(recording), attribution_(attribution), tree_(tree) {}

  std::optional<DeviceTimeline> run() {
    const auto device = busiest_device(recording_);
    if (!device.has_value()) {
      return std::nullopt;
    }
    result_.device = device->first;
    result_.other_devices = device->second;
    const std::vector<std::size_t> iterations = chosen_iterations(recording_);
    const std::vector<Edge> edges = sorted_edges();
    std::size_t next = 0;
    for (const std::size_t iteration : iterations) {
      start_ = recording_.iteration_start()[iteration];
      end_ = recording_.iteration_end()[iteration];
      for (; next < edges.size() && edges[next].time < end_; ++next) {
        pass_until(edges[next].time);
        pass(edges[next]);
      }
      pass_until(end_);
    }
    // What runs still has had its part.
    for (const Edge& edge : edges) {
      if (!edge.begins && had_.contains(edge.activity)) {
        close(edge.activity);
      }
    }
    finish(static_cast<double>(iterations.size()));
    return std::move(result_);
  }

 private:
  struct Edge {
    std::uint64_t time;
    std::uint32_t activity;
    bool begins;
  };

  bool is_kernel(std::uint32_t activity) const {
    return static_cast<Activity>(recording_.activity_kind()[activity]) == Activity::kKernel;
  }

  std::vector<Edge> sorted_edges() const {
    std::vector<Edge> edges;
    for (std::uint32_t i = 0; i < recording_.activity_start().size(); ++i) {
      if (recording_.activity_device()[i] == result_.device) {
        edges.push_back({recording_.activity_start()[i], i, true});
        edges.push_back({recording_.activity_end()[i], i, false});
      }
    }
    // An activity without length begins before it ends.
    std::ranges::stable_sort(edges, {}, &Edge::time);
    return edges;
  }

  /// Moves on to `time`: who runs has had its part of what lies within the iteration.
  void pass_until(std::uint64_t time) {
    const std::uint64_t from = std::max(cursor_, start_);
    cursor_ = std::max(cursor_, time);
    if (time <= from) {
      return;
    }
    const auto ns = static_cast<double>(time - from);
    if (kernels_ > 0) {
      result_.kernel_ns += ns;
      kernel_part_ += ns / static_cast<double>(kernels_);
    } else if (copies_ > 0) {
      result_.copy_ns += ns;
      copy_part_ += ns / static_cast<double>(copies_);
    } else {
      result_.idle_ns += ns;
    }
  }

  void pass(const Edge& edge) {
    std::size_t& running = is_kernel(edge.activity) ? kernels_ : copies_;
    if (edge.begins) {
      ++running;
      had_[edge.activity] = is_kernel(edge.activity) ? kernel_part_ : copy_part_;
      if (is_kernel(edge.activity) && edge.time >= start_) {
        count_kernel(edge.activity);
      }
    } else {
      --running;
      close(edge.activity);
    }
  }

  std::optional<CostKey> owner_of(std::uint32_t activity) const {
    const std::uint32_t call = answering_call(recording_, activity);
    return call == kNone ? std::nullopt : std::optional(owner_of_call(call, recording_, attribution_, tree_));
  }

  void close(std::uint32_t activity) {
    const auto opened = had_.find(activity);
    const bool kernel = is_kernel(activity);
    const double part = (kernel ? kernel_part_ : copy_part_) - opened->second;
    had_.erase(opened);
    if (part <= 0) {
      return;
    }
    const std::optional<CostKey> owner = owner_of(activity);
    DeviceCost& cost = owner.has_value() ? result_.costs[*owner] : result_.unknown;
    (kernel ? cost.kernel_ns : cost.copy_ns) += part;
  }

  void count_kernel(std::uint32_t activity) {
    const auto ns = static_cast<double>(recording_.activity_end()[activity] - recording_.activity_start()[activity]);
    Named& named = kernels_by_name_[recording_.activity_name()[activity]];
    const bool is_further_part = !recording_.activity_part().empty() && recording_.activity_part()[activity] != 0;
    named.cost.launches += is_further_part ? 0 : 1;
    named.cost.ns += ns;
    named.last_ns = is_further_part ? named.last_ns + ns : ns;
    named.cost.max_ns = std::max(named.cost.max_ns, named.last_ns);
    if (const std::optional<CostKey> owner = owner_of(activity)) {
      named.by_line[tree_[owner->owner].self_line] += ns;
    }
  }

  void finish(double iterations) {
    result_.iterations = static_cast<int>(iterations);
    for (double* ns : {&result_.kernel_ns, &result_.copy_ns, &result_.idle_ns, &result_.unknown.kernel_ns,
                       &result_.unknown.copy_ns}) {
      *ns /= iterations;
    }
    for (auto& [key, cost] : result_.costs) {
      cost.kernel_ns /= iterations;
      cost.copy_ns /= iterations;
    }
    for (auto& [name, named] : kernels_by_name_) {
      named.cost.name = name;
      for (const auto& [line, ns] : named.by_line) {
        if (line != 0 && ns > named.cost.line_ns) {
          named.cost.line = line;
          named.cost.line_ns = ns;
        }
      }
      result_.kernels.push_back(named.cost);
    }
  }

  struct Named {
    KernelCost cost;
    double last_ns = 0;  ///< of the last launch, with all its parts
    std::map<LineId, double> by_line;
  };

  const Recording& recording_;
  const Attribution& attribution_;
  const CallTree& tree_;
  DeviceTimeline result_;
  std::uint64_t start_ = 0;  ///< of the iteration
  std::uint64_t end_ = 0;
  std::uint64_t cursor_ = 0;
  std::size_t kernels_ = 0;  ///< that run at the cursor
  std::size_t copies_ = 0;
  // What an activity that runs all the time would have had so far: an activity's part is the difference between its end
  // and its start, so that many at once cost no more than few.
  double kernel_part_ = 0;
  double copy_part_ = 0;
  std::unordered_map<std::uint32_t, double> had_;  ///< of those that run: the part when they began
  std::map<std::uint32_t, Named> kernels_by_name_;
};

}  // namespace

std::uint32_t answering_call(const Recording& recording, std::size_t activity) {
  const bool has_captured = !recording.activity_captured().empty() && recording.activity_captured()[activity] != kNone;
  return has_captured ? recording.activity_captured()[activity] : recording.activity_call()[activity];
}

CostKey owner_of_call(std::uint32_t call, const Recording& recording, const Attribution& attribution,
                      const CallTree& tree) {
  const std::uint32_t op = recording.call_op()[call];
  const TreeNode stack = tree.node_of_stack(recording.call_node()[call]);
  if (op == kNone) {
    return {stack, stack, 0, python_phase(tree[stack]), false};
  }
  if (in_backward(attribution.phase[op])) {
    return {attribution.owner[op], tree.node_of_stack(recording.op_node()[op]), attribution.operation[op],
            attribution.phase[op], false};
  }
  // Python of its own runs in a range that the user named: the call's stack knows more than the range's.
  const bool own_stack = recording.call_node()[call] != 0 && recording.call_node()[call] != recording.op_node()[op];
  const TreeNode owner = own_stack ? stack : attribution.owner[op];
  return {owner, owner, attribution.operation[op], attribution.phase[op], false};
}

std::optional<DeviceTimeline> build_device_timeline(const Recording& recording, const Attribution& attribution,
                                                    const CallTree& tree) {
  return DeviceTimelineBuilder(recording, attribution, tree).run();
}

}  // namespace ridgeline::analysis
