// The replay of a recorded job, for people.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "communication/job_file.h"
#include "protocol/communication.h"

namespace ridgeline::commands {

/// How long a step takes as the graph of the job says, next to what was recorded, and what decides it. `aligned` are
/// the records of the job by one clock. Below it, how long a step takes in the replay with each of `changes`, and with
/// all of them (job_change.h). The error says why the job cannot be replayed, or which change it cannot be replayed
/// with.
base::Result<std::string> replay_text(const communication::Job& job,
                                      const std::vector<communication::RankRecord>& aligned,
                                      const std::vector<std::string>& changes);

}  // namespace ridgeline::commands
