// What FSDP gathers and reduces at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jobs/replay/data_parallel.h"
#include "protocol/experiment.h"

namespace ridgeline::jobs {

/// How many gradients each unit has, in the order in which they are ready: buckets, but the weights of a module are
/// never in two.
std::vector<std::size_t> unit_sizes(const std::vector<protocol::ReadyGradient>& gradients, const BucketRule& rule);

/// The bytes of each, of `sizes` tensors one after the other.
std::vector<std::uint64_t> unit_bytes(const std::vector<std::uint64_t>& tensors, const std::vector<std::size_t>& sizes);

}  // namespace ridgeline::jobs
