// The ranks of a job from the traces of torch.profiler, one of each rank.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/exit_codes.h"
#include "jobs/record/job_file.h"

namespace ridgeline::cli {

/// What ran on devices; the ranks have no recording (jobs::JobRank), so that the job cannot be replayed. Why
/// that is not possible is written to stderr.
base::Result<jobs::Job, ExitCode> job_of_traces(const std::vector<std::string>& files);

}  // namespace ridgeline::cli
