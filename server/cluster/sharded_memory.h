// The peak of a rank when weights, gradients and the state of the optimizer are sharded.
//
// ZeRO (Rajbhandari et al., SC 2020), section 5: stage 1 shards the state, stage 2 also gradients, stage 3 also
// weights.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::cluster {

/// What one process has, and how it is sharded.
struct Sharding {
  int stage = 0;                        ///< 0 to 3
  double ranks = 1;                     ///< at least 1
  std::uint64_t gradient_bytes = 0;     ///< of all; the weights that have gradients are as large
  std::uint64_t largest_unit = 0;       ///< of gradients that are reduced, and of weights that are gathered, together
  std::optional<double> state_share{};  ///< stage 1: of the optimizer's state, what a rank has; absent: an N-th
  bool has_buckets = false;             ///< the memory is of a rank of DistributedDataParallel: buckets are in it
};

/// Of all bytes, what the rank has whose share is largest when each tensor goes, the largest first, to the rank that
/// has least: so torch's ZeroRedundancyOptimizer gives whole tensors to ranks. 1 without bytes. Pure.
double largest_share(std::vector<std::uint64_t> tensor_bytes, double ranks);

/// Of the instants of the profile's peak iteration, the most that a rank then has alive. The state of the optimizer is
/// its share at stage 1, and an N-th above; gradients from stage 2 on, beside two units that are not reduced yet. Of
/// the weights with gradients an N-th from stage 2 on, beside what is gathered: at stage 2 all, until backward has made
/// their gradients (torch's fully_shard with reshard_after_forward=False), at stage 3 two units. Below stage 2 buckets
/// are a copy of all gradients. Padding of shards is not in it. Pure.
std::uint64_t sharded_peak(const analysis::MemoryOverTime& memory, const Sharding& sharding);

}  // namespace ridgeline::cluster
