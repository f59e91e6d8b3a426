// Applies a change that the user wrote to a recorded job.
//
// dPRO (MLSys 2022), section 3: custom optimization strategies. step/changes/change_file.h describes the change.
#pragma once

#include <vector>

#include "base/result.h"
#include "jobs/replay/recorded_job.h"
#include "step/changes/change_file.h"

namespace ridgeline::jobs {

/// Applies `by_rank[i]` to the graph of `job.ranks[i]`. A step of the change that alters a collective's duration alters
/// only the part after the last rank it waits for has started. Fails if a step of the change selects nothing on a rank,
/// or moves recorded tasks, which stay on the thread that ran them. Pure.
base::Result<RecordedJob> with_own_change(RecordedJob job, const std::vector<step::UserChange>& by_rank,
                                          step::Bound bound);

}  // namespace ridgeline::jobs
