// Which trainings on a cluster are asked for, by the names of changes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/predict/predict_job.h"

namespace ridgeline::jobs {

struct RequestedTrainings {
  std::vector<TrainingRequest> data_parallel;
  std::vector<PipelineRequest> pipelines;
};

/// Each size of buckets (DistributedDataParallel's own where none is asked for) alone and with each other change of
/// data parallel training; and each pipeline. Fails for a change that does not fit a cluster, and for an argument that
/// is none. Pure.
base::Result<RequestedTrainings> requested_trainings(const std::vector<std::string>& changes);

}  // namespace ridgeline::jobs
