// What data-parallel training on a cluster would take, from the graph of one process's step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/values/job_prediction.h"
#include "base/result.h"
#include "jobs/network/cluster_file.h"
#include "jobs/predict/one_process.h"

namespace ridgeline::jobs {

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

}  // namespace ridgeline::jobs
