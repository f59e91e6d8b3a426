// A recorded job whose pointwise operations are fused, as compilers fuse them.
//
// dPRO (MLSys 2022), section 5.1, theorem 1: fusing two operations pays where the fused one takes less and no gradient
// that is sent begins later. Pointwise operations between two gradients delay none.
#pragma once

#include "base/result.h"
#include "jobs/replay/recorded_job.h"

namespace ridgeline::jobs {

/// In forward and in backward, pointwise operations that the thread of the steps runs one after the other, with nothing
/// but Python between them, take what the longest of each such run takes, and `share` of what the others take: 0 where
/// the fused operation is bound by it, 1 where fusing saves nothing. A run ends before an operation with which a
/// gradient is ready, and where the thread calls a collective or waits for one. Python stays as it is. What each
/// operation computes is not known: one may not use what the one before has made. `share` is 0 to 1. Fails when no rank
/// has such a run. Pure.
base::Result<RecordedJob> with_fused_operations(RecordedJob job, double share);

}  // namespace ridgeline::jobs
