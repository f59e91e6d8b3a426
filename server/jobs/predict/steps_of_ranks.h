// A data-parallel step of which only the time of one rank is known, and not when its gradients are ready.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "jobs/network/cluster_file.h"
#include "protocol/experiment.h"

namespace ridgeline::jobs {

/// Nanoseconds.
struct StepBounds {
  double low_ns = 0;
  std::optional<double> high_ns{};  ///< absent: not known
};

struct StepOfRanks {
  std::int64_t ranks = 1;
  StepBounds step{};
};

/// Of 2, 4, 8 ... and all ranks of the cluster, the first ones of its placement, with DistributedDataParallel's own
/// bucket sizes. `alone`: a rank's step without communication. At least, all that backward can hide is hidden: the last
/// bucket's all-reduce begins when backward is over. At most, nothing is, and the step takes a tenth longer beside it.
/// Empty for a cluster of one rank. An error for gradients that are not modelled (ready_gradients.h) and as
/// ring_links() has it.
base::Result<std::vector<StepOfRanks>> steps_of_ranks(const StepBounds& alone, const protocol::Replica& replica,
                                                      const Cluster& cluster);

}  // namespace ridgeline::jobs
