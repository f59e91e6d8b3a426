// Estimators as JSON: what a trainer is given, what it returns, and the file that keeps them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "operations/estimators/estimator.h"
#include "operations/estimators/groups.h"

namespace ridgeline::operations {

inline constexpr std::size_t kMaxEstimatorBytes = std::size_t{256} << 20U;

/// The plan of train_estimators.py.
nlohmann::json training_plan(std::span<const TrainingGroup> groups, bool with_product);

/// Parses what train_estimators.py wrote for those groups; groups with too few rows have no model.
base::Result<std::vector<OperatorModel>> trained_models(std::string_view json, std::span<const TrainingGroup> groups);

/// One or more devices.
std::string estimators_json(std::span<const Estimators> all);

/// Untrusted. `name`: of the file, for errors.
base::Result<std::vector<Estimators>> parse_estimators(std::string_view json, const std::string& name);

}  // namespace ridgeline::operations
