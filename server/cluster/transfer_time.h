// What a collective takes of the network by its bytes, from those that a job recorded.
//
// dPRO (MLSys 2022), section 5.1: t_sync(s), from the communication operations of the recording.
#pragma once

#include <cstdint>
#include <map>

#include "cluster/recorded_job.h"
#include "protocol/communication.h"

namespace ridgeline::cluster {

/// A line through the recorded collectives of a kind.
struct TransferTime {
  double latency_ns = 0;  ///< not negative, like ns_per_byte; not both are 0
  double ns_per_byte = 0;
  bool is_split = false;  ///< false: the sizes recorded do not tell what of it is latency

  double at(double bytes) const { return latency_ns + bytes * ns_per_byte; }
};

/// What the recording does not tell: where a kind had one size, or all of a step were on their way at
/// once, all of its time is taken for transfer, or for latency.
enum class Unsplit : std::uint8_t { kTransfer, kLatency };

/// By kind, of those that took time: least squares of relative errors. Collectives that were on their way at once share
/// the network, and count together.
std::map<communication::Kind, TransferTime> transfer_times(const RecordedJob& job, Unsplit unsplit);

}  // namespace ridgeline::cluster
