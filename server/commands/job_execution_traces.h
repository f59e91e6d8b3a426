// `ridgeline job --format chakra`.
#pragma once

#include <string>
#include <vector>

#include "communication/job_file.h"
#include "protocol/communication.h"

namespace ridgeline::commands {

/// Writes the execution traces of a job to `folder`, which must not be there yet: all of them, or none. `aligned` are
/// its records by one clock. An exit code; what it says goes to standard error.
int write_execution_traces(const communication::Job& job, const std::vector<communication::RankRecord>& aligned,
                           const std::string& folder);

}  // namespace ridgeline::commands
