#include "jobs/predict/cores_of_ranks.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace ridgeline::jobs {

namespace {

/// Whether as many copies of the step as the machine has ranks were timed on as many cores as it has.
bool has_measured_turns(const OneProcess& process, const Machines& machines) {
  return process.threads == 1 && *machines.cores == process.cores &&
         process.replica.together_ns.size() == static_cast<std::size_t>(machines.ranks);
}

}  // namespace

base::Result<CoresOfRanks> cores_of_ranks(const OneProcess& process, const Cluster& cluster) {
  if (!process.on_host) {
    return CoresOfRanks{Cores::kSpare, false};
  }
  CoresOfRanks of;
  for (const Placed& placed : cluster.placement) {
    const Machines& machines = cluster.machines[placed.machines];
    if (!machines.cores.has_value()) {
      continue;
    }
    const int used = machines.ranks * process.threads;
    if (*machines.cores < used && !has_measured_turns(process, machines)) {
      return base::error("machine \"" + machines.name + "\" has " + std::to_string(*machines.cores) + " cores for " +
                         std::to_string(machines.ranks) + " ranks of " + std::to_string(process.threads) +
                         " threads: how ranks take turns on cores is only known of one thread each on as many cores as "
                         "copies of the step run on here, " +
                         std::to_string(process.cores) + "; use fewer threads (torch.set_num_threads) or ranks");
    }
    of.takes_turns = of.takes_turns || *machines.cores < used;
    const bool spare = *machines.cores >= used + machines.ranks;
    of.cores = spare && of.cores != Cores::kShared ? Cores::kSpare : Cores::kShared;
  }
  return of;
}

int ranks_of_a_machine(const Cluster& cluster) {
  int most = 1;
  for (const Placed& placed : cluster.placement) {
    most = std::max(most, cluster.machines[placed.machines].ranks);
  }
  return most;
}

}  // namespace ridgeline::jobs
