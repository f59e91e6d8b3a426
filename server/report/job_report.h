// The answer of `ridgeline job` as JSON and for a browser.
#pragma once

#include <string>

#include "analysis/values/job_report.h"

namespace ridgeline::report {

/// What protocol/job.schema.json describes. Nothing is rounded. Ends with a newline.
std::string json_job_report(const analysis::JobReport& job);

/// One page for a browser, which loads nothing and has no script: the ranks side by side, and what the text has.
/// Everything from outside is escaped. Ends with a newline.
std::string html_job_report(const analysis::JobReport& job);

/// "rank 1, train.py:52", "all-reduce of bucket 0". Printable.
std::string path_part_text(const analysis::PathPart& part);

}  // namespace ridgeline::report
