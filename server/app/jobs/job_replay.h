// The replay of a recorded job as it was.
#pragma once

#include <string>
#include <vector>

#include "analysis/values/job_report.h"
#include "base/result.h"
#include "jobs/record/job_file.h"
#include "jobs/replay/recorded_job.h"
#include "protocol/recording.h"

namespace ridgeline::app {

/// The recording of each rank. The error names the rank whose recording is damaged.
base::Result<std::vector<recording::Recording>> recordings_of(const jobs::Job& job);

struct Replayed {
  analysis::JobReplay replay;
  std::vector<std::vector<analysis::LineTime>> computing;  ///< by rank: what its thread does, of a recorded step
};

/// How long a step takes as the graph of the job says, next to what was recorded, and what decides it. Fails as
/// jobs::replay() does. Pure.
base::Result<Replayed> replayed(const jobs::RecordedJob& job);

/// A warning that there is none, and why.
std::string not_replayed(const base::Error& problem);

}  // namespace ridgeline::app
