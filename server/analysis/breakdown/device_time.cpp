#include "analysis/breakdown/device_time.h"

#include <algorithm>
#include <functional>
#include <string>

#include "analysis/memory/allocator_replay.h"

namespace ridgeline::analysis {

namespace {

/// Kernels and copies take what they took; what the device is idle is what the bare iteration leaves.
void set_waits(const DeviceWaits& recorded, double scale, DeviceTime& time) {
  const ByWait& recorded_ns = recorded.ns;
  const auto of = [](Wait wait) { return static_cast<std::size_t>(wait); };
  constexpr std::array kIdleWaits = {Wait::kSync, Wait::kHostBound, Wait::kIdle};
  double recorded_idle = 0;
  for (const Wait wait : kIdleWaits) {
    recorded_idle += recorded_ns[of(wait)];
  }
  for (const Wait wait : {Wait::kDeviceBound, Wait::kOverlapped, Wait::kCopy}) {
    time.waits[of(wait)] = recorded_ns[of(wait)] * scale / 1e6;
  }
  for (const Wait wait : kIdleWaits) {
    time.waits[of(wait)] = recorded_idle > 0 ? time.idle_ms * recorded_ns[of(wait)] / recorded_idle : 0;
  }
  if (recorded_idle <= 0) {
    time.waits[of(Wait::kIdle)] = time.idle_ms;
  } else {
    time.pauses_ms = time.idle_ms * recorded.pauses_ns / recorded_idle;
  }
}

Kernel kernel_of(const KernelCost& cost, const BreakdownInput& input) {
  const double iterations = std::max(1, input.device->timeline.iterations);
  Kernel kernel;
  kernel.name = input.recording.string(cost.name);
  kernel.launches = static_cast<double>(cost.launches) / iterations;
  kernel.ms = cost.ns / iterations / 1e6;
  kernel.mean_ms = cost.ns / static_cast<double>(cost.launches) / 1e6;
  kernel.max_ms = cost.max_ns / 1e6;
  kernel.location = location_of(cost.line, input.recording, input.tree, input.scope);
  kernel.line_ms = cost.line_ns / iterations / 1e6;
  return kernel;
}

}  // namespace

DeviceTime device_time(const BreakdownInput& input, double iteration_ms) {
  const DeviceTimeline& timeline = input.device->timeline;
  const double to_ms = input.device->scale / 1e6;
  DeviceTime time;
  time.device = timeline.device;
  time.scale = input.device->scale;
  time.kernel_ms = timeline.kernel_ns * to_ms;
  time.copy_ms = timeline.copy_ns * to_ms;
  time.idle_ms = std::max(0.0, iteration_ms - time.kernel_ms - time.copy_ms);
  set_waits(input.device->waits, time.scale, time);
  time.lost_share = input.device->launches.lost_share();
  for (const auto& [key, cost] : timeline.costs) {
    time.by_phase[static_cast<std::size_t>(key.phase)] += (cost.kernel_ns + cost.copy_ns) * to_ms;
  }
  time.by_phase[static_cast<std::size_t>(Phase::kOther)] +=
      (timeline.unknown.kernel_ns + timeline.unknown.copy_ns) * to_ms;
  for (const KernelCost& cost : timeline.kernels) {
    time.kernels.push_back(kernel_of(cost, input));
    time.launches += time.kernels.back().launches;
  }
  std::ranges::stable_sort(time.kernels, std::greater{}, &Kernel::ms);
  time.peak_reserved_bytes = peak_reserved(input.recording);
  return time;
}

}  // namespace ridgeline::analysis
