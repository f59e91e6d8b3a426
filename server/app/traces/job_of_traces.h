// The ranks of a job from the traces of torch.profiler, one of each rank. Waits for files: for the command line only.
#pragma once

#include <string>
#include <vector>

#include "app/profiling/use_case_failure.h"
#include "jobs/record/job_file.h"

namespace ridgeline::app {

/// What ran on devices; the ranks have no recording (jobs::JobRank), so that the job cannot be replayed.
Answer<jobs::Job> job_of_traces(const std::vector<std::string>& files);

}  // namespace ridgeline::app
