#include "jobs/predict/sharded_collectives.h"

#include <numeric>

namespace ridgeline::jobs {

namespace {

/// Whoever calls it waits for its end before the next one.
CollectiveTime waited_for(const CollectiveTime& time, const ShareOfAllReduce& share) {
  const analysis::Measured ns{time.ns.value * share.middle, time.ns.low * share.low, time.ns.high * share.high};
  return {ns, ns, time.processor_ns * share.middle};
}

/// Adds a collective to several that begin at the same time; the sum lasts until the last is over. At most each waits
/// for the one before.
/// for the one before.
void add(CollectiveTime& sum, const CollectiveTime& time) {
  sum.ns.value += time.next_ns.value;
  sum.ns.low += time.next_ns.low;
  sum.ns.high += time.ns.high;
  sum.processor_ns += time.processor_ns;
}

}  // namespace

double ring_broadcast_share(double ranks) { return ranks > 1 ? ranks / (2 * (ranks - 1)) : 0; }

CollectiveTime ShardedCollectives::reduction(double bytes) const {
  const CollectiveTime all_reduce = times_.all_reduce(bytes);
  if (stage_ < 2) {
    return all_reduce;
  }
  if (on_host_) {
    return waited_for(all_reduce, kGlooScatter);
  }
  return scaled(all_reduce, stage_ == 2 ? kHalfRing.middle : 2 * kHalfRing.middle);
}

CollectiveTime ShardedCollectives::gather(std::span<const std::uint64_t> pieces) const {
  if (!on_host_) {
    const auto bytes = static_cast<double>(std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0}));
    return scaled(times_.all_reduce(bytes), stage_ == 1 ? ring_broadcast_share(ranks_) : kHalfRing.middle);
  }
  CollectiveTime sum;
  for (const std::uint64_t piece : pieces) {
    const auto bytes = static_cast<double>(piece);
    add(sum, stage_ == 1 ? times_.broadcast(bytes) : waited_for(times_.all_reduce(bytes), kGlooGather));
  }
  return sum;
}

}  // namespace ridgeline::jobs
