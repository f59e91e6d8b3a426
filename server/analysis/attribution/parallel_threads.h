// Threads that operations of the iteration's thread use to compute in parallel, such as OpenMP's.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/attribution/attribution.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// The threads whose operations all lie within operations of the iteration's thread, were called by no Python and
/// called no device: what at::parallel_for runs, such as the buffers of attention's flash kernels on the CPU. Their
/// time is part of those operations.
std::vector<std::uint16_t> parallel_threads(const recording::Recording& recording, const Attribution& attribution);

}  // namespace ridgeline::analysis
