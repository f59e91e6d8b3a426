// The answer of `ridgeline job show` as text, as JSON and for a browser.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/job_report.h"

#include "report/warnings.h"

namespace ridgeline::report {

/// What protocol/job.schema.json describes. Nothing is rounded. Ends with a newline.
std::string json_job_report(const analysis::JobReport& job);

/// One page for a browser, which loads nothing and has no script: the ranks side by side, and what the text has.
/// Everything from outside is escaped. Ends with a newline.
std::string html_job_report(const analysis::JobReport& job);

/// For people. `lines_of`: the rank whose lines are shown, a place in `ranks`. Ends with a newline.
std::string text_job_report(const analysis::JobReport& job, std::size_t lines_of,
                            ShownWarnings warnings = ShownWarnings::kFirst);

/// The replay of execution traces, which do not say how long steps took: JobReplay::recorded_ms is not shown. For
/// people. Ends with a newline.
std::string text_replayed_traces(const analysis::JobReplay& replay, std::size_t ranks,
                                 const std::vector<analysis::ChangedStep>& changes,
                                 const std::optional<analysis::SlowerRank>& slower,
                                 const std::vector<std::string>& warnings, ShownWarnings shown = ShownWarnings::kFirst);

/// The part of it that says what the ranks wait for.
std::string communication_text(const analysis::JobReport& job, std::size_t lines_of);

/// "Rank 1 is 18 % slower than the others in its own work: data loading, train.py:8." Printable.
std::string slower_rank_text(const analysis::SlowerRank& slower);

/// "-12.3 ppm", "unknown"
std::string drift_text(const analysis::MachineClock& clock);

/// What the times include the cost of: "recording". Printable.
std::string cost_of(const analysis::JobReport& job);

/// "replayed 45.2 ms, recorded 45.1 ms (+0.1 %)"
std::string replayed_text(const analysis::JobReplay& replay);

/// "rank 1, train.py:52", "all-reduce of bucket 0". Printable.
std::string path_part_text(const analysis::PathPart& part);

}  // namespace ridgeline::report
