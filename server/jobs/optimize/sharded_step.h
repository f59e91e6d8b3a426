// A recorded job of DistributedDataParallel whose optimizer, and whose gradients, are sharded.
//
// ZeRO (Rajbhandari et al., SC 2020), sections 5 and 7: stage 1 reduces gradients as before, stage 2 sends half of it;
// both gather the weights behind the optimizer.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "jobs/replay/recorded_job.h"
#include "step/changes/graph_change.h"

namespace ridgeline::jobs {

/// The largest share of the optimizer's state and work that a rank has. At stage 1 ranks get whole tensors, as from
/// torch's ZeroRedundancyOptimizer; above, each has an N-th.
double optimizer_share(const RecordedJob& job, int stage);

/// `stage` is 1 or 2. The optimizer takes its share of the recorded time; then all ranks gather the weights, and the
/// next step begins with them. At stage 2 buckets are scattered, too. How long both take of all-reduces, and that
/// Gloo's ranks wait for them at stage 2, is ShardedCollectives'. At the pessimistic end the optimizer takes all of its
/// time, as small steps are not shorter, and each tensor (at stage 2 each bucket) is gathered with a latency of its
/// own. Copies to and from shards are not in it. Fails where a step of a rank has no optimizer, or the job no buckets;
/// at stage 2 with Gloo as without_overlap() does. Pure.
base::Result<RecordedJob> with_sharding(RecordedJob job, int stage, step::Bound bound);

}  // namespace ridgeline::jobs
