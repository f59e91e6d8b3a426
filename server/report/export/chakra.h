// Execution traces of MLCommons Chakra (https://github.com/mlcommons/chakra, et_def.proto, version 0.0.4), which
// simulators such as ASTRA-sim read.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/replay/recorded_job.h"
#include "protocol/communication.h"

namespace ridgeline::report {

struct NamedFile {
  std::string name;
  std::string content;
};

/// "rank.N.et" of each rank, and "groups.json": the ranks of each group that is not of all ranks, by its number. A file
/// has GlobalMetadata, and then a Node for each task of the rank's graph and for each time between steps, in an order
/// in which dependencies come first. `job` is made of `records`, unchanged.
///
/// Durations are whole microseconds, with the cost of recording; those of a rank's thread are rounded so that their sum
/// is right. A collective takes what was recorded from the last start that it waits for to its end on this rank; what
/// passes between its call and its start is left out. Fails for a kind of collective that the format does not have.
base::Result<std::vector<NamedFile>> chakra_traces(const std::vector<jobs::RankRecord>& records,
                                                   const jobs::RecordedJob& job);

}  // namespace ridgeline::report
