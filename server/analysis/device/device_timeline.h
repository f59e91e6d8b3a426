// Every instant of a device, attributed to the stacks that launched its work.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/attribution/attribution.h"
#include "analysis/attribution/call_tree.h"
#include "analysis/attribution/timeline.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// The device time of one stack. Nanoseconds of one iteration, by the device's clock.
struct DeviceCost {
  double kernel_ns = 0;
  double copy_ns = 0;  ///< that no kernel hides
};

struct KernelCost {
  std::uint32_t name = 0;      ///< string of the recording
  std::uint64_t launches = 0;  ///< over all the iterations used, as are the times
  double ns = 0;
  double max_ns = 0;
  LineId line = 0;  ///< with most of it; 0: none has any
  double line_ns = 0;
};

struct DeviceTimeline {
  std::uint32_t device = 0;
  std::unordered_map<CostKey, DeviceCost, CostKeyHash> costs;
  DeviceCost unknown;               ///< of activities whose call is not known
  double kernel_ns = 0;             ///< of one iteration: a kernel runs
  double copy_ns = 0;               ///< a copy runs or memory is set, and no kernel
  double idle_ns = 0;               ///< neither
  int iterations = 0;               ///< how many were used
  int other_devices = 0;            ///< that also ran kernels, and are left out
  std::vector<KernelCost> kernels;  ///< by name
};

/// Every instant of the iterations that `build_timeline` uses belongs to the kernels that run, in equal parts, else to
/// the copies that run, in equal parts, else to no owner. The owner of an activity is the owner of the op that its call
/// was made in, else the call's stack. Covers the device with most activities; nothing where there are none.
std::optional<DeviceTimeline> build_device_timeline(const recording::Recording& recording,
                                                    const Attribution& attribution, const CallTree& tree);

/// The call that answers for an activity: of one that a CUDA graph replayed, the call that was captured, where that is
/// known; else the one that asked for it. kNone: not known.
std::uint32_t answering_call(const recording::Recording& recording, std::size_t activity);

/// The owner of a call of the device's runtime.
CostKey owner_of_call(std::uint32_t call, const recording::Recording& recording, const Attribution& attribution,
                      const CallTree& tree);

}  // namespace ridgeline::analysis
