// A recorded job, as a graph of all its ranks that can be replayed.
//
// dPRO (MLSys 2022), sections 4.1 and 4.3.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/values/input.h"
#include "base/result.h"
#include "jobs/replay/job_graph.h"
#include "jobs/replay/recorded_rank.h"
#include "protocol/communication.h"
#include "protocol/recording.h"

namespace ridgeline::jobs {

/// The buckets of DistributedDataParallel in a step of a rank, in the order of their calls.
struct RecordedBuckets {
  std::vector<std::size_t> calls;   ///< of EqualRanks::calls
  std::vector<step::TaskId> ready;  ///< of the rank's graph, by gradient as accumulated: its hooks have run
};

/// What a collective takes by its bytes: a line.
struct TransferTime {
  double latency_ns = 0;  ///< not negative, like ns_per_byte; not both are 0
  double ns_per_byte = 0;
  bool is_split = false;  ///< false: the recorded sizes do not tell what of it is latency

  double at(double bytes) const { return latency_ns + bytes * ns_per_byte; }
};

/// The longest run of consecutive steps that all ranks recorded.
struct RecordedJob {
  std::vector<std::int64_t> steps;                     ///< their numbers
  std::vector<EqualRanks> ranks;                       ///< one for each record, in their order
  std::vector<std::vector<std::uint32_t>> called;      ///< by rank, of each call as recorded: RankRecord::collectives
  std::vector<std::vector<step::TaskId>> step_ends;    ///< by rank: tasks of its graph, one for each step
  std::vector<std::vector<std::int64_t>> recorded_ns;  ///< by rank: of each step, with the cost of recording
  std::vector<std::vector<RecordedBuckets>> buckets;   ///< by rank, of each step
  std::vector<std::uint64_t> gradient_bytes;           ///< in the order of the buckets; empty: not recorded
  std::vector<std::size_t> bucket_gradients;           ///< how many each bucket has; as gradient_bytes
  std::optional<TransferTime> measured_all_reduce{};   ///< of as many ranks, apart from the job (transfer_time.h)
  double core_share = 0;  ///< of its rank's core, that a collective is known to take while it is on its way
};

/// `records` are of the recordings, by the clocks of their machines; `aligned` are the same by one clock (one_clock.h).
/// Fails when no step is common to all, when a rank of a group was not recorded, when records and recordings do not
/// agree, and for recordings of devices, whose streams are not modelled. Pure.
base::Result<RecordedJob> recorded_job(std::span<const RankRecord> records, std::span<const RankRecord> aligned,
                                       std::span<const recording::Recording> recordings,
                                       const analysis::SourceScope& scope);

/// Which ranks' start the end of a collective waits for on this rank, with Gloo: a sender is done no sooner than its
/// receiver has called (gloo/transport/tcp/pair.cc, sends of unbound buffers), so the root of a broadcast waits for
/// those that it sends to. With more than two ranks these are some of them; they are taken to be all.
Awaits awaits_of(CollectiveKind kind, bool is_root);

/// Maps each collective of a rank's graph to the task of the thread that called it. Pure.
std::unordered_map<step::TaskId, step::TaskId> callers(const step::Graph& graph);

struct Replay {
  JobGraph graph;
  step::Schedule schedule;
  std::vector<std::vector<std::int64_t>> step_ns;  ///< by rank: of each step
};

/// Fails as join() and simulate() do.
base::Result<Replay> replay(const RecordedJob& job);

}  // namespace ridgeline::jobs
