// Whether the ranks of a job have their machines' cores to themselves.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "jobs/network/cluster_file.h"
#include "jobs/predict/one_process.h"

namespace ridgeline::jobs {

enum class Cores : std::uint8_t { kSpare, kShared, kUnknown };

struct CoresOfRanks {
  Cores cores = Cores::kUnknown;  ///< for communication, beside what the ranks compute on
  bool takes_turns = false;       ///< ranks have fewer cores than threads
};

/// The cores of the machine that has the fewest for its ranks. An error when ranks take turns in a way that was not
/// measured.
base::Result<CoresOfRanks> cores_of_ranks(const OneProcess& process, const Cluster& cluster);

/// The copies of the step that a machine of the cluster runs at once: the most of any machine.
int ranks_of_a_machine(const Cluster& cluster);

}  // namespace ridgeline::jobs
