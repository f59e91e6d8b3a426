// How a collective becomes messages, and how long it takes over links that are all alike.
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/communication.h"

namespace ridgeline::jobs {

/// One direction.
struct Link {
  double latency_ns = 0;
  double bytes_per_ns = 1;  ///< positive; GB/s
};

enum class Algorithm : std::uint8_t {
  kRing,  ///< Gloo's all-reduce; NCCL's for large tensors
  kTree,  ///< binomial, not pipelined
};

struct Message {
  std::uint32_t from = 0;  ///< place in the group
  std::uint32_t to = 0;
  double bytes = 0;
};

/// Messages of one round may be on their way at once; a rank takes part in a round when it is over with those before.
using Rounds = std::vector<std::vector<Message>>;

/// Whether the two functions below know the kind. Not gather, scatter, reduce, all-to-all, and point to point.
bool is_modelled(CollectiveKind kind);

/// `bytes`: of the whole tensor. A broadcast, and a reduction of a barrier, are trees in any case; reduce-scatter and
/// all-gather are rings. The root of a broadcast is place 0. Empty for one rank.
Rounds rounds_of(CollectiveKind kind, Algorithm algorithm, std::uint32_t ranks, double bytes);

/// From the last rank's start to the end, nanoseconds: of every rank the same, as if each message had a link of its
/// own.
double cost_ns(CollectiveKind kind, Algorithm algorithm, std::uint32_t ranks, double bytes, const Link& link);

}  // namespace ridgeline::jobs
