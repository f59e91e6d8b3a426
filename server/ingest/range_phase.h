// The phase of a step that a range is about, where there are no stacks that tell.
#pragma once

#include <cstdint>
#include <string_view>

#include "ingest/trace.h"

namespace ridgeline::ingest {

enum class RangePhase : std::uint8_t { kUnknown, kData, kBackward, kOptimizer };

/// By the ranges that torch opens itself ("Optimizer.step#SGD.step"); in a report of Nsight Systems, which never has
/// stacks, also by those that users open ("optimizer", "data copy"). `name`: of the event.
RangePhase phase_of_range(const TraceEvent& event, std::string_view name, TraceSource source);

}  // namespace ridgeline::ingest
