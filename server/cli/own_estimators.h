// Estimators of this user: trained, kept in the cache, and read.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "operations/estimators/estimator.h"
#include "operations/estimators/groups.h"

namespace ridgeline::cli {

/// Empty where none were trained. An error where the file cannot be used.
base::Result<std::vector<operations::Estimators>> own_estimators();

/// Trains with torch of the interpreter `python_name`; empty: one that is found.
base::Result<std::vector<operations::OperatorModel>> train_models(const std::string& cache,
                                                                  const std::string& python_name, bool with_product,
                                                                  std::span<const operations::TrainingGroup> groups);

/// Replaces those of the same device, or those across devices.
base::Result<void> keep_estimators(const std::string& cache, operations::Estimators made);

}  // namespace ridgeline::cli
