// How long an iteration takes when one follows the other.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "step/changes/graph_change.h"

namespace ridgeline::step {

/// Nanoseconds from iteration to iteration, after the first ones. Three are simulated: a host that waits for nothing
/// runs ahead of its device, and then the device decides; what one iteration leaves to the next (into_next) waits
/// there. Work of the recording that had been launched before the iteration is left out: it is launched in the one
/// before.
base::Result<std::int64_t> period_ns(const ChangedGraph& changed);

}  // namespace ridgeline::step
