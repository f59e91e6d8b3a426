// Estimators of this user: trained with times of operations, tested with others, and kept in the cache.
#pragma once

#include <string>
#include <vector>

#include "app/profiling/use_case_failure.h"
#include "report/estimators.h"

namespace ridgeline::app {

struct TrainRequest {
  std::string device;                  ///< whose times; empty: this machine's processor
  bool across = false;                 ///< for GPUs without measurements, from all that have a data sheet
  std::vector<std::string> test_on{};  ///< with `across`: GPUs that are held out
  std::string python;                  ///< an interpreter with torch; empty: found
  double held_out = 0.1;               ///< share of the times that are held out
  double share = 1;                    ///< of the others, for training
  bool without_product = false;
};

struct Training {
  report::TrainingReport report;
  std::string warning;  ///< why earlier estimators were not kept; mostly empty
};

/// Waits for the training, which takes up to two hours: for the command line only. What was trained replaces that of
/// the same device, or that across devices.
Answer<Training> train_estimators(const TrainRequest& request);

}  // namespace ridgeline::app
