// The file of a cluster that a command is given.
#pragma once

#include <string>

#include "base/result.h"
#include "jobs/network/cluster_file.h"
#include "jobs/replay/recorded_job.h"

namespace ridgeline::app {

/// The error is a sentence for the user, with the file's name.
base::Result<jobs::Cluster> read_cluster(const std::string& path);

struct AllReduceOfFile {
  jobs::TransferTime time{};
  double core_share = 0;  ///< of the core of its rank, where the machines have none to spare
};

/// The time that the file gives for an all-reduce of `ranks` ranks. The error is as that of read_cluster().
base::Result<AllReduceOfFile> all_reduce_time(const std::string& path, std::size_t ranks);

}  // namespace ridgeline::app
