// The answer of `ridgeline job` as JSON.
#pragma once

#include <string>

#include "analysis/values/job_report.h"

namespace ridgeline::report {

/// What protocol/job.schema.json describes. Nothing is rounded. Ends with a newline.
std::string json_job_report(const analysis::JobReport& job);

}  // namespace ridgeline::report
