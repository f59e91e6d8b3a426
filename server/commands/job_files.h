// The files of a recorded job.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "communication/job_file.h"

namespace ridgeline::commands {

/// The ranks of all files, one of each machine, as one job. The error names the file.
base::Result<communication::Job> read_jobs(const std::vector<std::string>& files);

}  // namespace ridgeline::commands
