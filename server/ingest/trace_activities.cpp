#include "ingest/trace_activities.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"

namespace ridgeline::ingest {

namespace {

using base::contains;
using recording::Activity;
using recording::kNone;

class ActivityWriter {
 public:
  ActivityWriter(const Trace& trace, HostSweep& host, ColumnsBuilder& builder)
      : trace_(trace), host_(host), builder_(builder), to_(builder.columns) {}

  void run() {
    std::unordered_map<std::uint64_t, std::uint32_t> by_correlation;
    for (std::uint32_t i = 0; i < host_.calls.size(); ++i) {
      if (host_.calls[i].correlation != kNoId) {
        by_correlation.try_emplace(host_.calls[i].correlation, i);
      }
    }
    std::vector<PendingActivity> activities;
    for (std::uint32_t i = 0; i < trace_.events.size(); ++i) {
      if (is_on_device(trace_.events[i].kind)) {
        activities.push_back({i, call_of(trace_.events[i], by_correlation)});
      }
    }
    const std::vector<std::uint32_t> place = write_calls();
    std::ranges::stable_sort(activities, {}, [&](const auto& one) { return trace_.events[one.event].start; });
    for (const PendingActivity& activity : activities) {
      write_activity(trace_.events[activity.event], activity.call == kNone ? kNone : place[activity.call]);
    }
  }

 private:
  struct PendingActivity {
    std::uint32_t event;
    std::uint32_t call;  ///< among host_.calls as they are then
  };

  /// The call that launched an activity. Where the trace has its op only, a call that takes no time at the op's start.
  std::uint32_t call_of(const TraceEvent& event, std::unordered_map<std::uint64_t, std::uint32_t>& by_correlation) {
    const auto found = by_correlation.find(event.correlation);
    if (event.correlation != kNoId && found != by_correlation.end()) {
      return found->second;
    }
    const auto op = host_.op_of_external.find(event.external);
    if (event.external == kNoId || op == host_.op_of_external.end()) {
      return kNone;
    }
    host_.calls.push_back({to_.op_thread[op->second], recording::Call::kOther, builder_.text("not recorded"),
                           op->second, to_.op_node[op->second], to_.op_start[op->second], to_.op_start[op->second],
                           event.correlation});
    const auto call = static_cast<std::uint32_t>(host_.calls.size() - 1);
    if (event.correlation != kNoId) {
      by_correlation.emplace(event.correlation, call);
    }
    return call;
  }

  /// The index of each call in the recording.
  std::vector<std::uint32_t> write_calls() {
    std::vector<std::uint32_t> order(host_.calls.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::ranges::stable_sort(order, {},
                             [&](std::uint32_t i) { return std::pair(host_.calls[i].thread, host_.calls[i].start); });
    std::vector<std::uint32_t> place(order.size());
    for (const std::uint32_t i : order) {
      const PendingCall& call = host_.calls[i];
      place[i] = static_cast<std::uint32_t>(to_.call_name.size());
      to_.call_thread.push_back(call.thread);
      to_.call_kind.push_back(static_cast<std::uint8_t>(call.kind));
      to_.call_name.push_back(call.name);
      to_.call_op.push_back(call.op);
      to_.call_node.push_back(call.node);
      to_.call_start.push_back(call.start);
      to_.call_end.push_back(call.end);
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
    const std::string& name = trace_.strings[event.name];
    to_.activity_kind.push_back(static_cast<std::uint8_t>(kind_of(event, name)));
    to_.activity_name.push_back(builder_.text(name));
    to_.activity_device.push_back(event.device);
    to_.activity_stream.push_back(event.stream);
    to_.activity_call.push_back(call);
    to_.activity_start.push_back(event.start);
    to_.activity_end.push_back(event.end);
    to_.activity_bytes.push_back(event.bytes > 0 ? static_cast<std::uint64_t>(event.bytes) : 0);
  }

  const Trace& trace_;
  HostSweep& host_;
  ColumnsBuilder& builder_;
  recording::Columns& to_;
};

}  // namespace

std::unordered_set<std::uint64_t> externals_of_activities(const Trace& trace) {
  std::unordered_set<std::uint64_t> calls;
  for (const TraceEvent& event : trace.events) {
    if (event.kind == EventKind::kCall && event.correlation != kNoId) {
      calls.insert(event.correlation);
    }
  }
  std::unordered_set<std::uint64_t> externals;
  for (const TraceEvent& event : trace.events) {
    if (is_on_device(event.kind) && event.external != kNoId && !calls.contains(event.correlation)) {
      externals.insert(event.external);
    }
  }
  return externals;
}

void write_calls_and_activities(const Trace& trace, HostSweep& host, ColumnsBuilder& builder) {
  ActivityWriter(trace, host, builder).run();
}

}  // namespace ridgeline::ingest
