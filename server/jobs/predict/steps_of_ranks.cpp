#include "jobs/predict/steps_of_ranks.h"

#include <algorithm>

#include "jobs/network/collective_times.h"
#include "jobs/predict/ready_gradients.h"
#include "jobs/replay/data_parallel.h"

namespace ridgeline::jobs {

namespace {

/// The largest share of a step that DistributedDataParallel itself and concurrent communication took on V100s, rounded
/// up: docs/dev/architecture/job-prediction.md.
constexpr double kMostSlowed = 0.1;

/// The first ranks of the placement.
Cluster first_ranks(Cluster cluster, std::int64_t ranks) {
  for (Placed& placed : cluster.placement) {
    placed.ranks = std::min(placed.ranks, ranks);
    ranks -= placed.ranks;
    Machines& machines = cluster.machines[placed.machines];
    if (placed.ranks <= machines.ranks) {
      machines.count = 1;
    }
  }
  std::erase_if(cluster.placement, [](const Placed& placed) { return placed.ranks == 0; });
  return cluster;
}

std::vector<double> bucket_bytes(const protocol::Replica& replica) {
  std::vector<std::uint64_t> each;
  for (const protocol::ReadyGradient& gradient : replica.gradients) {
    each.push_back(gradient.bytes);
  }
  std::vector<double> buckets;
  auto next = each.begin();
  for (const std::size_t count : bucket_sizes(each, {})) {
    double bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      bytes += static_cast<double>(*next++);
    }
    buckets.push_back(bytes);
  }
  return buckets;
}

StepBounds with_communication(const StepBounds& alone, const std::vector<double>& buckets, double buffer_bytes,
                              const CollectiveTimes& times) {
  double low = 0;
  double high = 0;
  double last = 0;
  for (const double bytes : buckets) {
    const CollectiveTime one = times.all_reduce(bytes);
    low += one.ns.low;
    high += one.ns.high;
    last = one.ns.low;
  }
  const CollectiveTime before = buffer_bytes > 0 ? times.broadcast(buffer_bytes) : CollectiveTime{};
  StepBounds step{before.ns.low + std::max(alone.low_ns + last, low)};
  if (alone.high_ns) {
    step.high_ns = *alone.high_ns * (1 + kMostSlowed) + before.ns.high + high;
  }
  return step;
}

}  // namespace

base::Result<std::vector<StepOfRanks>> steps_of_ranks(const StepBounds& alone, const protocol::Replica& replica,
                                                      const Cluster& cluster) {
  if (const auto wrong = unmodelled_gradients(replica.gradients)) {
    return *wrong;
  }
  const std::vector<double> buckets = bucket_bytes(replica);
  double buffers = 0;
  for (const auto& [dtype, bytes] : replica.buffers) {
    buffers += static_cast<double>(bytes);
  }
  std::vector<StepOfRanks> steps;
  for (std::int64_t ranks = 2; ranks < 2 * cluster.ranks(); ranks *= 2) {
    const std::int64_t count = std::min(ranks, cluster.ranks());
    auto times = CollectiveTimes::of(first_ranks(cluster, count));
    if (!times) {
      return times.error();
    }
    steps.push_back({count, with_communication(alone, buckets, buffers, *times)});
  }
  return steps;
}

}  // namespace ridgeline::jobs
