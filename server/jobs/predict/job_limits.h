// What a job's prediction leaves out, and what makes it less certain.
#pragma once

#include <string>
#include <vector>

#include "jobs/network/cluster_file.h"
#include "jobs/network/collective_times.h"
#include "jobs/predict/cores_of_ranks.h"
#include "jobs/predict/one_process.h"

namespace ridgeline::jobs {

/// What is predicted, and from what.
struct JobBasis {
  const OneProcess& process;
  const Cluster& cluster;
  const CollectiveTimes& times;
  CoresOfRanks cores{};
  bool knows_slow_down = false;  ///< of ranks on one machine
  bool shards = false;           ///< some training does
  bool pipelines = false;
};

/// What is not modelled; each continues "not modelled: ".
std::vector<std::string> not_modelled(const JobBasis& basis);

/// Sentences.
std::vector<std::string> warnings(const JobBasis& basis);

}  // namespace ridgeline::jobs
