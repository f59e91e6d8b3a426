// Ranks compared with those that do the same: a straggler, and the job without it.
//
// After the what-if analysis of stragglers of Lin et al. (2025): each operation of a slow rank takes what it takes on
// the ranks that do the same. Ranks do the same that call the same collectives with the same bytes in the same order,
// as those of one stage of a pipeline.
#pragma once

#include <optional>

#include "analysis/values/job_report.h"
#include "base/result.h"
#include "jobs/replay/recorded_job.h"

namespace ridgeline::jobs {

/// The work of each rank takes, by step, line and operation, the median of the ranks that do the same, itself included.
/// Communication stays. Fails when no two ranks do the same.
base::Result<RecordedJob> with_ranks_like_median(RecordedJob job);

/// The work of that rank takes the median of the others that do the same. Fails when the rank was not recorded, and
/// when no other does the same.
base::Result<RecordedJob> with_rank_like_others(RecordedJob job, int rank);

/// The rank whose own work takes longest, compared with the median of the others that do the same: by 3 % at least, and
/// by 10 % where there are fewer than six steps, and in three of four steps. Nothing where no rank is so.
std::optional<analysis::SlowerRank> slowest_rank(const RecordedJob& job);

}  // namespace ridgeline::jobs
