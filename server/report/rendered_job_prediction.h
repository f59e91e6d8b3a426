// The answer of `ridgeline job predict --cluster`, for a terminal or as JSON.
#pragma once

#include <string>

#include "analysis/values/job_prediction.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// The iteration of the job with its interval, then where the time goes, by bucket and line. Everything from outside is
/// made printable. Ends with a newline.
std::string text_job_prediction(const analysis::JobPrediction& job, const TextOptions& options = {});

/// What protocol/job_prediction.schema.json describes. Nothing is rounded. Ends with a newline.
std::string json_job_prediction(const analysis::JobPrediction& job);

}  // namespace ridgeline::report
