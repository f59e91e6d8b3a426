// How long a step of a recorded job takes with a change, and how certain that is.
#pragma once

#include <string>
#include <vector>

#include "analysis/values/job_report.h"
#include "jobs/replay/recorded_job.h"

namespace ridgeline::jobs {

/// The median over ranks and steps, milliseconds.
double median_step_ms(const std::vector<std::vector<std::int64_t>>& by_rank);

/// The step with a change, and the speed-up against `unchanged`, each with a 95 % interval: of
/// the median under resampling of the recorded steps, all ranks' together (a bootstrap of 500 samples); of how far the
/// replay is from the recording; and of what every prediction may miss by (step/changes/prediction_error.h). `changed`:
/// the likely replay first, and those under other assumptions about what was not recorded; the interval has them all.
/// Not in it: that another run of the same job takes longer or less. Not empty, as `job` has steps. Pure.
analysis::ChangedStep changed_step(const RecordedJob& job, const Replay& unchanged, const std::vector<Replay>& changed);

}  // namespace ridgeline::jobs
