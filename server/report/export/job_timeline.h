// The ranks of a job side by side, for Perfetto (https://ui.perfetto.dev).
#pragma once

#include <string>
#include <vector>

#include "analysis/values/input.h"
#include "protocol/communication.h"

namespace ridgeline::report {

/// A trace in the JSON of Chrome's trace viewer: of each rank its steps, its waits for collectives, and the collectives
/// from call to end, with the line, bucket and bytes, and an arrow from the rank that called one last to the waits that
/// end with it. `records` are by one clock; times are from the first step on, with the cost of recording in them, or of
/// `profiler` where it is not empty. What began before that step is left out.
std::string job_timeline(const std::vector<jobs::RankRecord>& records, const analysis::SourceScope& scope,
                         const std::string& profiler);

}  // namespace ridgeline::report
