// Changes of a recorded job, which its replay then tells the consequences of.
//
// dPRO (MLSys 2022), section 4.3: the same graph with other durations. Pure functions from job to job.
#pragma once

#include "analysis/values/input.h"
#include "base/result.h"
#include "cluster/recorded_job.h"

namespace ridgeline::cluster {

/// What the threads of the ranks do at that line, on every rank, takes a `times`-th. `times` is finite and positive.
/// Fails when no rank spends time there.
base::Result<RecordedJob> with_faster_line(RecordedJob job, const analysis::Location& line, double times);

/// All that the thread of the rank does, but for waiting, takes a `times`-th. `times` is finite and positive. Fails
/// when the rank was not recorded.
base::Result<RecordedJob> with_faster_rank(RecordedJob job, int rank, double times);

/// Each collective and message takes a `times`-th of its recorded time after the last start that it waits for. `times`
/// is finite and positive. The time from a call to its start stays. Fails when there was no communication.
base::Result<RecordedJob> with_faster_communication(RecordedJob job, double times);

}  // namespace ridgeline::cluster
