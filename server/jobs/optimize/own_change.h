// A recorded job with a change that the user wrote: a pass of the user's own.
//
// dPRO (MLSys 2022), section 3: custom optimization strategies. step/changes/change_file.h describes the change.
#pragma once

#include <vector>

#include "base/result.h"
#include "jobs/replay/recorded_job.h"
#include "step/changes/change_file.h"

namespace ridgeline::jobs {

/// Changes the graph of each rank by what `by_rank` has in its place, one for each of RecordedJob::ranks. What a step
/// does to the time of a collective it does to its time after the last start that it waits for. Fails where a step
/// selects nothing on a rank, and where it moves recorded tasks: they stay on the thread that ran them. Pure.
base::Result<RecordedJob> with_own_change(RecordedJob job, const std::vector<step::UserChange>& by_rank,
                                          step::Bound bound);

}  // namespace ridgeline::jobs
