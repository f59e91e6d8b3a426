#include "analysis/device/device_waits.h"

#include <algorithm>
#include <vector>

namespace ridgeline::analysis {

namespace {

using recording::Activity;
using recording::Call;
using recording::kNone;
using recording::Recording;
using recording::Scope;

enum class What : std::uint8_t { kKernel, kCopy, kWorking, kWaiting };

struct Edge {
  std::uint64_t time;
  std::uint16_t thread;
  What what;
  bool begins;
};

bool may_wait(Call kind) { return kind == Call::kSynchronise || kind == Call::kCopy; }

class Sweep {
 public:
  Sweep(const Recording& recording, std::uint32_t device)
      : recording_(recording), threads_(recording.thread_torch_id().size()) {
    add_activities(device);
    add_ops();
    add_calls();
    std::ranges::stable_sort(edges_, {}, &Edge::time);
  }

  DeviceWaits run(const std::vector<std::size_t>& iterations) {
    std::size_t next = 0;
    for (const std::size_t iteration : iterations) {
      const std::uint64_t end = recording_.iteration_end()[iteration];
      const auto length = static_cast<double>(end - recording_.iteration_start()[iteration]);
      long_pause_ns_ = DeviceTime::kLongPause * length;
      while (next < edges_.size() && edges_[next].time <= recording_.iteration_start()[iteration]) {
        pass(edges_[next++]);
      }
      std::uint64_t cursor = recording_.iteration_start()[iteration];
      for (; next < edges_.size() && edges_[next].time < end; ++next) {
        add(edges_[next].time - cursor);
        cursor = edges_[next].time;
        pass(edges_[next]);
      }
      add(end - cursor);
      end_pause();
    }
    for (double& ns : result_.ns) {
      ns /= static_cast<double>(iterations.size());
    }
    result_.pauses_ns /= static_cast<double>(iterations.size());
    return result_;
  }

 private:
  struct Thread {
    int working = 0;
    int waiting = 0;
  };

  void span(std::uint64_t start, std::uint64_t end, What what, std::uint16_t thread = 0) {
    if (end > start) {
      edges_.push_back({start, thread, what, true});
      edges_.push_back({end, thread, what, false});
    }
  }

  void add_activities(std::uint32_t device) {
    for (std::size_t i = 0; i < recording_.activity_start().size(); ++i) {
      if (recording_.activity_device()[i] == device) {
        const bool kernel = static_cast<Activity>(recording_.activity_kind()[i]) == Activity::kKernel;
        span(recording_.activity_start()[i], recording_.activity_end()[i], kernel ? What::kKernel : What::kCopy);
      }
    }
  }

  bool is_range(std::uint32_t op) const { return static_cast<Scope>(recording_.op_scope()[op]) == Scope::kUser; }

  /// The outermost ops that are no mere ranges; those inside them change nothing.
  void add_ops() {
    std::vector<bool> covered(recording_.op_name().size());
    for (std::uint32_t op = 0; op < covered.size(); ++op) {
      const std::uint32_t parent = recording_.op_parent()[op];
      const bool inside = parent != kNone && covered[parent];
      covered[op] = inside || !is_range(op);
      if (covered[op] && !inside) {
        span(recording_.op_start()[op], recording_.op_end()[op], What::kWorking, recording_.op_thread()[op]);
      }
    }
  }

  void add_calls() {
    for (std::size_t i = 0; i < recording_.call_start().size(); ++i) {
      const bool waits = may_wait(static_cast<Call>(recording_.call_kind()[i]));
      span(recording_.call_start()[i], recording_.call_end()[i], waits ? What::kWaiting : What::kWorking,
           recording_.call_thread()[i]);
    }
  }

  void pass(const Edge& edge) {
    const int step = edge.begins ? 1 : -1;
    if (edge.what == What::kKernel) {
      kernels_ += step;
    } else if (edge.what == What::kCopy) {
      copies_ += step;
    } else {
      Thread& thread = threads_[edge.thread];
      count(thread, -1);
      (edge.what == What::kWorking ? thread.working : thread.waiting) += step;
      count(thread, 1);
    }
  }

  void count(const Thread& thread, int step) {
    if (thread.waiting > 0) {
      threads_waiting_ += step;
    } else if (thread.working > 0) {
      threads_working_ += step;
    }
  }

  void add(std::uint64_t ns) {
    const Wait wait = now();
    result_.ns[static_cast<std::size_t>(wait)] += static_cast<double>(ns);
    if (wait == Wait::kIdle) {
      pause_ns_ += static_cast<double>(ns);
    } else if (ns > 0) {
      end_pause();
    }
  }

  void end_pause() {
    result_.pauses_ns += pause_ns_ > long_pause_ns_ ? pause_ns_ : 0;
    pause_ns_ = 0;
  }

  Wait now() const {
    const bool host_waits = threads_waiting_ > 0 && threads_working_ == 0;
    if (kernels_ > 0) {
      return host_waits ? Wait::kDeviceBound : Wait::kOverlapped;
    }
    if (copies_ > 0) {
      return Wait::kCopy;
    }
    if (host_waits) {
      return Wait::kSync;
    }
    return threads_working_ > 0 ? Wait::kHostBound : Wait::kIdle;
  }

  const Recording& recording_;
  std::vector<Edge> edges_;
  std::vector<Thread> threads_;
  int threads_working_ = 0;
  int threads_waiting_ = 0;
  int kernels_ = 0;
  int copies_ = 0;
  double pause_ns_ = 0;  // of the stretch that lasts still
  double long_pause_ns_ = 0;
  DeviceWaits result_;
};

}  // namespace

DeviceWaits find_device_waits(const Recording& recording, const Attribution& attribution, const CallTree& tree,
                              std::uint32_t device) {
  const std::vector<std::size_t> iterations = chosen_iterations(recording);
  DeviceWaits waits = Sweep(recording, device).run(iterations);
  for (std::uint32_t call = 0; call < recording.call_name().size(); ++call) {
    if (!may_wait(static_cast<Call>(recording.call_kind()[call]))) {
      continue;
    }
    const std::uint64_t call_start = recording.call_start()[call];
    const std::uint64_t call_end = recording.call_end()[call];
    auto iteration = std::ranges::upper_bound(iterations, call_start, {},
                                              [&](std::size_t i) { return recording.iteration_end()[i]; });
    for (; iteration != iterations.end() && recording.iteration_start()[*iteration] < call_end; ++iteration) {
      const std::uint64_t start = std::max(call_start, recording.iteration_start()[*iteration]);
      const std::uint64_t end = std::min(call_end, recording.iteration_end()[*iteration]);
      waits.calls[owner_of_call(call, recording, attribution, tree)] +=
          static_cast<double>(end - start) / static_cast<double>(iterations.size());
    }
  }
  return waits;
}

std::optional<DeviceParts> analyse_device(const Recording& recording, const Attribution& attribution,
                                          const CallTree& tree, double bare_ns) {
  std::optional<DeviceTimeline> timeline = build_device_timeline(recording, attribution, tree);
  if (!timeline.has_value()) {
    return std::nullopt;
  }
  const double busy = timeline->kernel_ns + timeline->copy_ns;
  DeviceWaits waits = find_device_waits(recording, attribution, tree, timeline->device);
  return DeviceParts{*std::move(timeline), std::move(waits), count_launches(recording),
                     busy > bare_ns ? bare_ns / busy : 1};
}

}  // namespace ridgeline::analysis
