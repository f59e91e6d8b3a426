// What ranks with ZeRO send, and what they wait for.
//
// On devices, by NCCL: a reduce-scatter and an all-gather take half of an all-reduce each, and are on their way while
// kernels run. On hosts, by Gloo (torch 2.13): a reduce-scatter is an all-reduce of a copy, fully_shard waits for each
// collective where it calls it (FSDPParamGroup::unshard_async_op is off), and ZeroRedundancyOptimizer broadcasts tensor
// by tensor. How long these take of an all-reduce: docs/dev/architecture/job-prediction.md.
#pragma once

#include <cstdint>
#include <span>

#include "jobs/network/collective_times.h"

namespace ridgeline::jobs {

/// The share of the time of an all-reduce of the whole tensor.
struct ShareOfAllReduce {
  double middle, low, high;
};
inline constexpr ShareOfAllReduce kGlooScatter{1.03, 0.95, 1.45};
inline constexpr ShareOfAllReduce kGlooGather{0.65, 0.45, 0.9};
/// NCCL's reduce-scatters and all-gathers, which are steps of the same ring.
inline constexpr ShareOfAllReduce kHalfRing{0.5, 0.5, 0.5};

/// Broadcasts of tensors that add up to the whole, as a ring passes them on: each rank sends all, and not all but its
/// own.
double ring_broadcast_share(double ranks);

/// The collectives of a stage of ZeRO; stage 0 is DistributedDataParallel alone.
class ShardedCollectives {
 public:
  /// `times` outlives it.
  ShardedCollectives(const CollectiveTimes& times, double ranks, int stage, bool on_host)
      : times_(times), ranks_(ranks), stage_(stage), on_host_(on_host) {}

  /// Whether ranks compute while collectives are on their way.
  bool overlap() const { return stage_ < 2 || !on_host_; }

  /// How often a step gathers all weights.
  int gathers() const { return stage_ < 3 ? (stage_ > 0 ? 1 : 0) : 2; }

  /// How many of those overlap reductions: at stage 3 backward gathers a unit while another one is reduced.
  int gathers_in_backward() const { return overlap() ? gathers() / 2 : 0; }

  /// The reduction of a bucket's gradients (from stage 2 on, a unit's), with what is gathered beside it.
  CollectiveTime reduction(double bytes) const;

  /// All weights once; `pieces` are the bytes of the tensors (stage 1) or of the units.
  CollectiveTime gather(std::span<const std::uint64_t> pieces) const;

 private:
  const CollectiveTimes& times_;
  double ranks_;
  int stage_;
  bool on_host_;
};

}  // namespace ridgeline::jobs
