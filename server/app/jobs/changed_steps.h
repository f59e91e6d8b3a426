// The replay of a recorded job, and its changes.
#pragma once

#include <string>
#include <vector>

#include "analysis/values/job_report.h"
#include "base/result.h"
#include "jobs/record/job_file.h"
#include "jobs/replay/recorded_job.h"
#include "protocol/communication.h"
#include "protocol/recording.h"

namespace ridgeline::app {

/// The graph of the job, which its replay needs. `aligned` are its records by one clock, `recordings` its recordings.
/// `network` is the file of `ridgeline job network` that says what of an all-reduce is latency; empty: there is none.
/// The error says why it cannot be replayed.
base::Result<jobs::RecordedJob> job_graph(const jobs::Job& job, const std::vector<jobs::RankRecord>& aligned,
                                          const std::vector<recording::Recording>& recordings,
                                          const std::string& network);

/// How long a step takes with each of `changes` (step/changes/change_table.h) and, where there are several, with all.
/// The error says which change the job cannot be replayed with.
base::Result<std::vector<analysis::ChangedStep>> changed_steps(const jobs::RecordedJob& job,
                                                               const std::vector<std::string>& changes);

}  // namespace ridgeline::app
