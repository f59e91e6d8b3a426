#include "cluster/best_strategy.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ridgeline::cluster {

namespace {

struct Candidate {
  std::uint64_t bucket_bytes = 0;
  double bound_ns = 0;  ///< of the iteration that sends
};

/// When the last all-reduce is over, and what waits for it: the iteration takes no less.
double bound_of(const Training& training, std::uint64_t cap, const simulate::Schedule& alone, const Network& network) {
  std::vector<std::uint64_t> bytes;
  for (const Gradient& gradient : training.gradients) bytes.push_back(gradient.bytes);
  double over = 0;
  std::size_t next = 0;
  for (const std::size_t size : bucket_sizes(bytes, {.cap_bytes = cap})) {
    double sum = 0;
    for (const std::size_t end = next + size; next < end; ++next) {
      over = std::max(over, static_cast<double>(alone.end[training.gradients[next].ready]));
      sum += static_cast<double>(bytes[next]);
    }
    over += cost_ns(communication::Kind::kAllReduce, network.algorithm,
                    static_cast<std::uint32_t>(training.ranks.size()), sum, network.slowest);
  }
  return over + static_cast<double>(training.graph.tasks[training.waits].duration_ns);
}

base::Result<std::int64_t> iteration_ns(const Training& training, std::uint64_t cap, const Network& network) {
  auto rank = data_parallel(training.graph, training.ranks, training.gradients, training.waits, {.cap_bytes = cap});
  if (!rank) return rank.error();
  const auto job = join({std::move(*rank)}, network, Joining::kWhole);
  if (!job) return job.error();
  const auto schedule = simulate::simulate(job->graph);
  if (!schedule) return schedule.error();
  return schedule->total_ns;
}

}  // namespace

base::Result<BestStrategy> best_strategy(const Training& training, const StrategySpace& space, const Network& network) {
  if (space.bucket_bytes.empty() || space.accumulate.empty() || std::ranges::min(space.accumulate) < 1) {
    return base::error("name at least one bucket size and one count of micro-batches, which is at least 1");
  }
  // Refuses what the bounds could not be made of.
  const auto checked = data_parallel(training.graph, training.ranks, training.gradients, training.waits, {});
  if (!checked) return checked.error();
  const auto alone = simulate::simulate(training.graph);
  if (!alone) return alone.error();
  std::vector<Candidate> candidates;
  for (const std::uint64_t cap : space.bucket_bytes) {
    candidates.push_back({cap, bound_of(training, cap, *alone, network)});
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::bound_ns);
  BestStrategy best{.strategies = space.bucket_bytes.size() * space.accumulate.size()};
  double fastest = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) {
    if (candidate.bound_ns >= fastest) break;
    const auto ns = iteration_ns(training, candidate.bucket_bytes, network);
    if (!ns) return ns.error();
    ++best.simulations;
    if (static_cast<double>(*ns) >= fastest) continue;
    fastest = static_cast<double>(*ns);
    best.strategy.bucket_bytes = candidate.bucket_bytes;
  }
  // K micro-batches take K - 1 times what is before the optimizer, and once the iteration that sends, which is never
  // shorter: whatever the buckets, the most are the fastest.
  const auto silent = static_cast<double>(alone->start[training.waits]);
  best.strategy.accumulate = std::ranges::max(space.accumulate);
  best.ns_per_batch = silent + (fastest - silent) / best.strategy.accumulate;
  return best;
}

}  // namespace ridgeline::cluster
