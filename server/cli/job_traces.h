// The ranks of a job from the traces of torch.profiler, one of each rank.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/exit_codes.h"
#include "jobs/record/job_file.h"

namespace ridgeline::commands {

/// What ran on devices; the ranks have no recording (communication::JobRank), so that the job cannot be replayed. Why
/// that is not possible is written to stderr.
base::Result<communication::Job, ExitCode> job_of_traces(const std::vector<std::string>& files);

}  // namespace ridgeline::commands
