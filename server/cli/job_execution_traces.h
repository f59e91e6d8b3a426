// Execution traces of MLCommons Chakra: `ridgeline job show --format chakra`, and `ridgeline job show NAME.0.et
// NAME.1.et`.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "jobs/record/job_file.h"
#include "protocol/communication.h"

namespace ridgeline::cli {

/// Writes the execution traces of a job to `folder`, which must not be there yet: all of them, or none. `aligned` are
/// its records by one clock. An exit code; what it says goes to standard error.
int write_execution_traces(const jobs::Job& job, const std::vector<jobs::RankRecord>& aligned,
                           const std::string& folder);

/// Whether it is named as such traces are: it ends with ".et".
bool is_execution_trace(const std::string& file);

/// The replay of traces, one of each rank, whose names end with ".RANK.et", and of each of `changes`, as text. An exit
/// code; what is wrong goes to standard error.
int show_execution_traces(const std::vector<std::string>& files, const std::vector<std::string>& changes,
                          const Output& output);

}  // namespace ridgeline::cli
