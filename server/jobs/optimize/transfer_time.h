// What a collective takes of the network by its bytes, from those that a job recorded.
//
// dPRO (MLSys 2022), section 5.1: t_sync(s), from the communication operations of the recording.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "jobs/network/cluster_file.h"
#include "jobs/replay/recorded_job.h"
#include "protocol/communication.h"

namespace ridgeline::jobs {

/// What is assumed where a recording cannot separate latency from transfer: a kind had one size, or all of a step were
/// on their way at once. All of its time is then taken for one of both.
enum class TransferAssumption : std::uint8_t { kTransfer, kLatency };

/// By kind, of those that took time: least squares of relative errors. Collectives that were on their way at once share
/// the network, and count together. Of all-reduces, RecordedJob::measured_all_reduce where it is known.
std::map<CollectiveKind, TransferTime> transfer_times(const RecordedJob& job, TransferAssumption assumption);

/// The same of what `ridgeline job network` measured of all-reduces; nothing where their sizes do not tell it.
std::optional<TransferTime> measured_time(std::span<const AllReduceTime> all_reduces);

}  // namespace ridgeline::jobs
