// The hierarchical breakdown: the iteration, its module instances as they call each other, and their operations.
#pragma once

#include <string>
#include <string_view>

#include "analysis/attribution/call_tree.h"
#include "analysis/attribution/timeline.h"
#include "analysis/device/device_waits.h"
#include "analysis/memory/memory.h"
#include "analysis/values/profile.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// Input of the breakdown's parts. `scale`: bare time / recorded time.
struct BreakdownInput {
  const recording::Recording& recording;
  const SourceScope& scope;
  const CallTree& tree;
  const Timeline& timeline;
  const MemoryAnalysis& memory;
  double scale = 1;
  const DeviceParts* device = nullptr;  ///< null: nothing ran on one
};

/// The root's time is the iteration's and its bytes are the peak's; every node is the sum of its children.
Node build_breakdown(const BreakdownInput& input);

/// As users write it: "conv2d" of "aten::conv2d".
std::string operation_name(std::string_view recorded);

/// Where a line is, for users.
Location location_of(LineId line, const recording::Recording& recording, const CallTree& tree,
                     const SourceScope& scope);

}  // namespace ridgeline::analysis
