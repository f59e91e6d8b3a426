// `ridgeline what-if ENTRY --cluster FILE`: a job of several ranks, predicted from one process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"

namespace ridgeline::cli {

struct ClusterOptions {
  std::string file;
  std::vector<std::uint64_t> bucket_bytes;  ///< each a prediction; empty: DistributedDataParallel's own sizes
  bool no_overlap = false;
  std::vector<int> zero;      ///< stages of sharding, 1 to 3, besides none
  std::vector<int> pipeline;  ///< counts of micro-batches: also a pipeline of as many stages as ranks with each
};

/// Profiles the entry, runs the step once more for its gradients and in copies, and predicts. The exit code.
int what_if_cluster(const app::ProfileRequest& request, const ClusterOptions& cluster, const Output& output);

}  // namespace ridgeline::cli
