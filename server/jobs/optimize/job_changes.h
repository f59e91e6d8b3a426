// Changes of a recorded job, which its replay then tells the consequences of.
//
// dPRO (MLSys 2022), section 4.3: the same graph with other durations. Pure functions from job to job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/input.h"
#include "base/result.h"
#include "jobs/optimize/transfer_time.h"
#include "jobs/replay/recorded_job.h"

namespace ridgeline::jobs {

/// What the threads of the ranks do at that line, on every rank, takes a `times`-th. `times` is finite and positive.
/// Fails when no rank spends time there.
base::Result<RecordedJob> with_faster_line(RecordedJob job, const analysis::Location& line, double times);

/// All that the thread of the rank does, but for waiting, takes a `times`-th. `times` is finite and positive. Fails
/// when the rank was not recorded.
base::Result<RecordedJob> with_faster_rank(RecordedJob job, int rank, double times);

/// Each collective and message takes a `times`-th of its recorded time after the last start that it waits for. `times`
/// is finite and positive. The time from a call to its start stays. Fails when there was no communication.
base::Result<RecordedJob> with_faster_communication(RecordedJob job, double times);

/// Divides the transfer part of each collective and message, by its bytes (transfer_time.h), by `times`; the latency
/// stays. `times` is finite and positive. Fails when there was no communication. dPRO, section 5.1.
base::Result<RecordedJob> with_bandwidth(RecordedJob job, double times, TransferAssumption assumption);

/// The buckets of DistributedDataParallel have a `times`-th of their bytes. What compressing them takes of the
/// processors is not in it. Fails when the job has none.
base::Result<RecordedJob> with_compression(RecordedJob job, double times, TransferAssumption assumption);

/// The buckets as they were, one after the other: with these, other buckets are to be compared. Fails as rebucketed()
/// does.
base::Result<RecordedJob> with_recorded_buckets(RecordedJob job);

/// The all-reduces of buckets begin when the last gradient is there, one after the other. Fails as rebucketed() does.
base::Result<RecordedJob> without_overlap(RecordedJob job);

/// As bucket_cap_mb of DistributedDataParallel would make them (bucket_sizes(), data_parallel.h). Each bucket takes
/// what transfer_times() say of its bytes, by how far the recorded buckets of the same step and rank were from that.
/// Fails as rebucketed() does, and when the order or the bytes of the gradients were not recorded.
base::Result<RecordedJob> with_bucket_size(RecordedJob job, std::uint64_t bytes, TransferAssumption assumption);

/// The buckets in another order: `order` has each of their numbers once. A bucket is called when its gradients and
/// those of the buckets before it are there. Fails as rebucketed() does, and for an order of other buckets.
base::Result<RecordedJob> with_bucket_order(RecordedJob job, const std::vector<std::size_t>& order);

/// Sends each bucket in `parts` parts of the same size, one after the other: each takes what transfer_times() say of
/// its bytes, by how far the recorded bucket was from that. `parts` is 1 or more. Parts never overlap here, so that
/// they never pay where a transfer takes a latency and its bytes (dPRO, section 5.1, theorem 2). Fails as rebucketed()
/// does.
base::Result<RecordedJob> with_partition(RecordedJob job, int parts, TransferAssumption assumption);

/// Why with_bucket_size() does not know which gradients the recorded buckets had and when these were ready; nothing: it
/// does.
std::optional<base::Error> unknown_gradients(const RecordedJob& job);

/// Forward of these modules, by their dotted names, runs again before their backward, on every rank: as long as it
/// took. Fails when a rank has no such module, and when one of them communicates in forward. dPRO, section 5.2.
base::Result<RecordedJob> with_recomputation(RecordedJob job, const std::vector<std::string>& modules);

}  // namespace ridgeline::jobs
