// What autograd does on threads of its own, as part of the time in which the iteration's thread waits for it.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/attribution/attribution.h"
#include "analysis/attribution/iteration_walk.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// The threads that autograd started for a device: nodes run there, and Python called none of their operations. On the
/// CPU there are none: the thread that calls backward() runs the nodes.
std::vector<std::uint16_t> autograd_threads(const recording::Recording& recording, const Attribution& attribution);

/// The pieces of the iteration's thread where the node that an autograd thread runs takes the place of the wait in
/// backward(), which the stack of the wait tells; likewise a gap between nodes of less than kShortGapNs. Where a node
/// has no known forward operation, the wait remains. The pieces still lie end to end. The raw stack is the waiting one.
HostPieces with_autograd_thread(HostPieces of_iteration, const HostPieces& of_thread);

}  // namespace ridgeline::analysis
