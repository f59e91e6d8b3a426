// What makes a batch size fit into memory: changes of the whole step, and of just as many modules as it takes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/values/what_if.h"
#include "app/experiment_runner.h"
#include "app/predict_changes.h"
#include "base/result.h"
#include "base/task.h"

namespace ridgeline::app {

struct FitQuestion {
  int batch_size = 0;
  std::uint64_t limit_bytes = 0;
  /// Of the batch size alone, by the models of the profile; on a device, what it reserves: see make_fit(). Absent: by
  /// its operations.
  std::optional<double> fitted_peak_bytes{};
};

struct FittingAnswer {
  analysis::WhatIf answer;
  /// The same changes of the step at that batch size, without it: see make_fit(). Fewer, where that is not known.
  std::vector<analysis::ChangeAnswer> over_batch;
};

/// Predicts fitting_requests(). Where a step does not fit, and does with all repeated modules checkpointed or, on a
/// device, offloaded, also which of these to change, and how: the plan of cheapest_plan() whose own operations, listed,
/// are predicted to fit; in the answer it is a row as the others are. For make_fit().
base::Task<base::Result<FittingAnswer, RunFailure>> predict_fitting(ExperimentRunner& runner, PredictedStep step,
                                                                    FitQuestion question);

}  // namespace ridgeline::app
