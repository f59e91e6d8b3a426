// The job of several machines, of what each of them recorded.
#pragma once

#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "jobs/record/job_file.h"

namespace ridgeline::app {

/// The bytes of a file of a job at one of the places.
using FetchJob = base::FunctionRef<base::Result<std::string>(const std::string& place)>;

/// The ranks of all places as one job. The error names the place that cannot be read, or those that cannot be of one
/// job.
base::Result<jobs::Job> collect_job(const std::vector<std::string>& places, FetchJob fetch);

/// Summarizes the ranks: their numbers, how many machines they ran on, and the steps that all have. Pure.
std::string ranks_summary(const jobs::Job& job);

}  // namespace ridgeline::app
