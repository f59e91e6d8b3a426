// Execution traces of MLCommons Chakra: of a job, and replayed. Waits for files: for the command line only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/job_report.h"
#include "app/profiling/use_case_failure.h"
#include "base/result.h"
#include "jobs/record/job_file.h"

namespace ridgeline::app {

/// Whether it is named as such traces are: it ends with ".et".
bool is_execution_trace(std::string_view file);

struct ReplayedTraces {
  analysis::JobReplay replay;
  std::size_t ranks = 0;
  std::vector<analysis::ChangedStep> steps;  ///< with each change
  std::optional<analysis::SlowerRank> slowest;
  std::vector<std::string> warnings;
};

/// The replay of traces, one of each rank, whose names end with ".RANK.et", and of each of `changes`. Reads the files.
base::Result<ReplayedTraces> replay_traces(const std::vector<std::string>& files,
                                           const std::vector<std::string>& changes);

/// Writes the traces of a job to `folder`, which must not be there yet: all of them, or none. `aligned` are its records
/// by one clock.
Answer<void> write_execution_traces(const jobs::Job& job, const std::vector<jobs::RankRecord>& aligned,
                                    const std::string& folder);

}  // namespace ridgeline::app
