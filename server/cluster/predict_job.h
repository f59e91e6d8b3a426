// What data-parallel training on a cluster would take, from the graph of one process's step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/job_prediction.h"
#include "analysis/values/profile.h"
#include "base/result.h"
#include "cluster/cluster_file.h"
#include "graph/graph.h"
#include "protocol/experiment.h"

namespace ridgeline::cluster {

/// The step of one process.
struct OneProcess {
  const graph::Graph& graph;
  const protocol::Replica& replica;
  analysis::Measured step_ms{};  ///< measured
  std::optional<std::uint64_t> peak_bytes{};
  int batch_size = 0;
  int threads = 1;  ///< inside operations
  bool on_host = true;
  const analysis::MemoryOverTime* memory = nullptr;  ///< null: not known
  int cores = 0;                                     ///< on which the copies of the replica ran
};

struct TrainingRequest {
  std::optional<std::uint64_t> bucket_bytes{};  ///< absent: DistributedDataParallel's own sizes
  bool overlap = true;
  int sharding = 0;  ///< ZeRO's stage, 0 to 3
};

/// Stages as many as there are ranks.
struct PipelineRequest {
  int micro_batches = 1;
};

/// The ranks, the trainings and what is not modelled; not the entry, the device and the cluster's name. Each training
/// is simulated at its middle and at both ends of what it depends on. An error says why it cannot be predicted.
base::Result<analysis::JobPrediction> predict_job(const OneProcess& process, const Cluster& cluster,
                                                  const std::vector<TrainingRequest>& requests,
                                                  const std::vector<PipelineRequest>& pipelines = {});

/// The copies of the step that a machine of the cluster runs at once: the most of any machine.
int ranks_of_a_machine(const Cluster& cluster);

}  // namespace ridgeline::cluster
