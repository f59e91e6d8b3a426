// What a device did for the collectives of a rank, and besides.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "protocol/communication.h"
#include "protocol/recording.h"

namespace ridgeline::jobs {

struct DeviceWork {
  /// By the operation `c10d::…` that launched them: from the start of its first kernel of NCCL or RCCL to the end of
  /// its last.
  std::unordered_map<std::uint32_t, Interval> collectives;
  std::vector<Interval> computing;  ///< all other activities; in order, and apart
};

/// Kernels whose launch lies in no operation `c10d::…`, as where calls are coalesced, are in neither. Pure.
DeviceWork device_work(const recording::Recording& recording);

}  // namespace ridgeline::jobs
