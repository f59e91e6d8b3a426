// The peak of a rank when weights, gradients and the state of the optimizer are sharded.
//
// ZeRO (Rajbhandari et al., SC 2020), section 5: stage 1 shards the state, stage 2 also gradients, stage 3 also
// weights.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/values/profile.h"
#include "jobs/predict/sharded_buffers.h"

namespace ridgeline::jobs {

/// What one process has, and how it is sharded.
struct Sharding {
  int stage = 0;                        ///< 0 to 3
  double ranks = 1;                     ///< at least 1
  std::uint64_t gradient_bytes = 0;     ///< of all; the weights that have gradients are as large
  std::vector<ShardedUnit> units{};     ///< of stages 2 and 3, in the order of backward
  std::optional<double> state_share{};  ///< stage 1: of the optimizer's state, what a rank has; absent: an N-th
  bool has_buckets = false;             ///< the memory is of a rank of DistributedDataParallel: buckets are in it
  bool has_copies = false;              ///< collectives may have copies (Gloo), which go some time after them
};

/// The peak of a rank: of stages 2 and 3 with Gloo it depends on when copies go, and a rank may have either end.
struct ShardedPeak {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// The largest share of all bytes that a rank has when each tensor, the largest first, goes to the rank that has least:
/// so torch's ZeroRedundancyOptimizer gives whole tensors to ranks. 1 without bytes. Pure.
double largest_share(std::vector<std::uint64_t> tensor_bytes, double ranks);

/// The most that a rank has alive at an instant of the profile's peak iteration. The state of the optimizer is its
/// share at stage 1, and an N-th above. From stage 2 on an N-th of weights and gradients, and the buffers of FSDP
/// (ShardedBuffers). Which unit is in backward is told by the gradients that are there; where these stay from step to
/// step, any may be. Below stage 2 buckets are a copy of all gradients. Padding of shards is not in it. Pure.
ShardedPeak sharded_peak(const analysis::MemoryOverTime& memory, const Sharding& sharding);

}  // namespace ridgeline::jobs
