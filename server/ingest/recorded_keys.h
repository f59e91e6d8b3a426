// The keys of all operations of a trace that was recorded with shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/values/input.h"
#include "ingest/trace.h"

namespace ridgeline::ingest {

/// As recorded_key() makes them. `op_event`: the trace's event, by op of the recording. Nothing for a trace without
/// inputs. Pure.
std::optional<analysis::RecordedKeys> recorded_keys(const Trace& trace, const std::vector<std::uint32_t>& op_event);

}  // namespace ridgeline::ingest
