// Training on a cluster, predicted from one process of an entry point, for commands and for editors.
#pragma once

#include <string>

#include "analysis/values/job_prediction.h"
#include "app/experiment_runner.h"
#include "app/profiling/profile_run.h"
#include "app/profiling/request.h"
#include "base/result.h"
#include "base/task.h"
#include "jobs/network/cluster_file.h"
#include "jobs/predict/requested_trainings.h"

namespace ridgeline::app {

struct JobPredictionQuestion {
  jobs::Cluster cluster;
  std::string cluster_file;  ///< what the answer calls it
  jobs::RequestedTrainings trainings;
  double seconds = 4;  ///< for running the step in copies, at most
};

/// Runs the step once more for its gradients, in as many copies as a machine has ranks, and predicts. `run` is of the
/// runner's entry point, and is read until the task ends. The value is an error, a sentence for the user, where the
/// step ran but the job cannot be predicted.
base::Task<base::Result<base::Result<analysis::JobPrediction>, RunFailure>> predict_job(ExperimentRunner& runner,
                                                                                        const ProfileRun& run,
                                                                                        JobPredictionQuestion question);

}  // namespace ridgeline::app
