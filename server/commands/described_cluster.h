// The file of a cluster that a command is given.
#pragma once

#include <string>

#include "base/result.h"
#include "cluster/cluster_file.h"
#include "cluster/recorded_job.h"

namespace ridgeline::commands {

/// The error is a sentence for the user, with the file's name.
base::Result<cluster::Cluster> read_cluster(const std::string& path);

/// What the file says that an all-reduce of `ranks` ranks takes; likewise.
base::Result<cluster::TransferTime> all_reduce_time(const std::string& path, std::size_t ranks);

}  // namespace ridgeline::commands
