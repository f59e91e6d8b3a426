#include "jobs/network/collective_cost.h"

#include <bit>

namespace ridgeline::jobs {

namespace {

/// Each rank sends the next one a part.
void add_ring(Rounds& rounds, std::uint32_t ranks, double bytes) {
  for (std::uint32_t step = 1; step < ranks; ++step) {
    std::vector<Message>& round = rounds.emplace_back();
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      round.push_back({rank, (rank + 1) % ranks, bytes / ranks});
    }
  }
}

/// Place 0 gets what all others have.
void add_reduction(Rounds& rounds, std::uint32_t ranks, double bytes) {
  for (std::uint32_t distance = 1; distance < ranks; distance *= 2) {
    std::vector<Message>& round = rounds.emplace_back();
    for (std::uint32_t to = 0; to + distance < ranks; to += 2 * distance) {
      round.push_back({to + distance, to, bytes});
    }
  }
}

/// All get what place 0 has.
void add_spread(Rounds& rounds, std::uint32_t ranks, double bytes) {
  for (std::uint32_t distance = std::bit_ceil(ranks) / 2; distance > 0; distance /= 2) {
    std::vector<Message>& round = rounds.emplace_back();
    for (std::uint32_t from = 0; from + distance < ranks; from += 2 * distance) {
      round.push_back({from, from + distance, bytes});
    }
  }
}

bool is_ring(CollectiveKind kind, Algorithm algorithm) {
  return kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllGather ||
         (kind == CollectiveKind::kAllReduce && algorithm == Algorithm::kRing);
}

bool goes_twice(CollectiveKind kind) { return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kBarrier; }

}  // namespace

bool is_modelled(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kAllGather || kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kBarrier;
}

Rounds rounds_of(CollectiveKind kind, Algorithm algorithm, std::uint32_t ranks, double bytes) {
  Rounds rounds;
  if (ranks < 2) {
    return rounds;
  }
  if (is_ring(kind, algorithm)) {
    add_ring(rounds, ranks, bytes);
    if (goes_twice(kind)) {
      add_ring(rounds, ranks, bytes);
    }
    return rounds;
  }
  if (goes_twice(kind)) {
    add_reduction(rounds, ranks, bytes);
  }
  add_spread(rounds, ranks, bytes);
  return rounds;
}

double cost_ns(CollectiveKind kind, Algorithm algorithm, std::uint32_t ranks, double bytes, const Link& link) {
  if (ranks < 2) {
    return 0;
  }
  if (is_ring(kind, algorithm)) {
    const double rounds = (ranks - 1.0) * (goes_twice(kind) ? 2 : 1);
    return rounds * (link.latency_ns + bytes / ranks / link.bytes_per_ns);
  }
  // Who sends again need not wait until the message before is there: a tree with gaps has no way with all latencies.
  const double rounds = std::bit_width(ranks - 1);
  const double latencies = std::has_single_bit(ranks) ? rounds : rounds - 1;
  const double spread = latencies * link.latency_ns + rounds * bytes / link.bytes_per_ns;
  return spread + (goes_twice(kind) ? rounds * (link.latency_ns + bytes / link.bytes_per_ns) : 0);
}

}  // namespace ridgeline::jobs
