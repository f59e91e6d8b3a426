// What training estimators brought, for a terminal or as JSON.
#pragma once

#include <string>
#include <vector>

#include "operations/estimators/estimator.h"
#include "operations/estimators/held_out.h"

namespace ridgeline::report {

struct TrainingReport {
  operations::Conditions conditions;
  int rows = 0;  ///< for training
  std::vector<operations::OperatorModel> models;
  std::vector<operations::HeldOutError> held_out;
  std::vector<std::string> devices{};             ///< of models across devices: that trained them
  std::vector<operations::DeviceError> across{};  ///< likewise; then there are neither conditions nor `held_out`
};

/// Ends with a newline.
std::string text_training(const TrainingReport& report);
/// As protocol/training.schema.json describes.
std::string json_training(const TrainingReport& report);

/// The same of models across devices.
std::string text_training_across_devices(const TrainingReport& report);
/// As protocol/training-across.schema.json describes.
std::string json_training_across_devices(const TrainingReport& report);

}  // namespace ridgeline::report
