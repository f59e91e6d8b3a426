// The bucket size, compression and gradient accumulation with which a recorded job would be fastest.
//
// dPRO (MLSys 2022), section 5: bounds that need no replay prune the search, and so do its theorems: fused operations
// are never slower (1), and parts of a bucket never faster where a transfer takes a latency and its bytes (2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/job_report.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "jobs/replay/recorded_job.h"
#include "step/changes/change_file.h"

namespace ridgeline::jobs {

struct Strategy {
  std::optional<std::uint64_t> bucket_bytes{};  ///< bucket_cap_mb of DistributedDataParallel; absent: as recorded
  double compression = 1;                       ///< factor by which buckets have fewer bytes
  int accumulate = 1;  ///< micro-batches of the recorded size before the gradients are sent: no_sync()
  std::vector<std::string> recompute{};  ///< modules whose forward runs again in backward
  bool fuse = false;                     ///< pointwise operations (fused_operations.h)
  int sharding = 0;                      ///< stage of ZeRO, 0 to 2 (sharded_step.h)
  std::vector<std::size_t> own{};        ///< of StrategySpace::own
};

struct StrategySpace {
  std::vector<std::uint64_t> bucket_bytes;  ///< besides the recorded buckets
  std::vector<double> compression;          ///< besides none; 1 or more
  std::vector<int> accumulate;              ///< besides 1; more than 1 trains with batches larger by this factor
  /// One of these. Empty: none, as recomputation makes no step shorter: it is for memory that else does not suffice.
  std::vector<std::vector<std::string>> recompute{};
  /// Every strategy with pointwise operations fused: then none is slower in any replay (dPRO, theorem 1).
  bool fuse = false;
  /// Besides none; 1 and 2. Without compression and recomputation, and stage 2 without several micro-batches, whose
  /// gradients it would keep.
  std::vector<int> sharding{};
  /// Changes that the user wrote, each by rank (own_change.h): each alone and all together, besides none.
  std::vector<std::vector<step::UserChange>> own{};
  std::function<bool(const Strategy&)> fits{};  ///< only those are replayed; empty: all
};

struct ReplayedStrategy {
  Strategy strategy{};
  analysis::ChangedStep step{};  ///< for each micro-batch of each rank; against the job as it is
};

struct BestStrategy {
  std::vector<ReplayedStrategy> replayed;  ///< the fastest first
  std::size_t strategies = 0;              ///< in the space
  bool is_complete = true;                 ///< false: `go_on` ended the search, and it is the best until then
};

/// The time of each micro-batch when the last of `accumulate` steps sends gradients: of the others, the slowest rank's
/// until the end of backward, less `core_share` of what all-reduces were on their way until then, as they took so much
/// of its core. By rank, of each step. Pure.
std::vector<std::vector<std::int64_t>> accumulated_ns(const RecordedJob& job, const Replay& replay, int accumulate,
                                                      double core_share = 0);

/// No step takes less, in the median over ranks and steps, milliseconds: its last all-reduce ends after the gradients
/// and the all-reduces before it, and the thread's own work is not shorter. Needs no replay. Pure.
double least_step_ms(const RecordedJob& job);

/// `go_on` is asked before each replay but the first, with how many there were and how many there are at most. Overlap
/// is not searched: all-reduces that begin later are never over sooner, as the replay has it. Fails for a number of the
/// space that is out of range, where the recorded all-reduces do not tell latency from transfer (transfer_time.h), and
/// as with_bucket_size() and with_fused_operations() do.
base::Result<BestStrategy> best_strategy(const RecordedJob& job, const StrategySpace& space,
                                         base::FunctionRef<bool(std::size_t done, std::size_t most)> go_on);

}  // namespace ridgeline::jobs
