// What waits for what: at each instant of an iteration, what the device does and what the host does.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "analysis/device/device_timeline.h"
#include "analysis/device/lost_kernels.h"
#include "analysis/values/profile.h"

namespace ridgeline::analysis {

struct DeviceWaits {
  ByWait ns{};           ///< of one iteration, as the clock saw it; sums to its length
  double pauses_ns = 0;  ///< of kIdle: stretches of more than DeviceTime::kLongPause of the iteration
  /// Host time in calls that synchronise or copy, by owner; of one iteration.
  std::unordered_map<CostKey, double, CostKeyHash> calls;
};

/// Over the iterations that `build_timeline` uses. The host waits while a thread of it is in a call that synchronises
/// or copies, and no other thread is in an operation or another call. A range that the user named is no operation.
DeviceWaits find_device_waits(const recording::Recording& recording, const Attribution& attribution,
                              const CallTree& tree, std::uint32_t device);

/// Everything of the device. `scale` makes it fit into the bare iteration.
struct DeviceParts {
  DeviceTimeline timeline;
  DeviceWaits waits;
  Launches launches;
  double scale = 1;  ///< bare iteration / device's busy time where that is longer, else 1: device times are real times
};

/// `bare_ns` is the iteration that the parts are to sum to. Nothing where the recording has no device.
std::optional<DeviceParts> analyse_device(const recording::Recording& recording, const Attribution& attribution,
                                          const CallTree& tree, double bare_ns);

}  // namespace ridgeline::analysis
