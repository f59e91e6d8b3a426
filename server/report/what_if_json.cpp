#include <cmath>
#include <string_view>

#include <nlohmann/json.hpp>

#include "report/rendered_what_if.h"

namespace ridgeline::report {
namespace {

std::string_view direction_name(analysis::Direction direction) {
  switch (direction) {
    case analysis::Direction::kFaster:
      return "gain";
    case analysis::Direction::kSlower:
      return "loss";
    case analysis::Direction::kSame:
      return "same";
    case analysis::Direction::kUnclear:
      return "unclear";
  }
  return "unclear";
}

nlohmann::ordered_json speed_up_json(const analysis::SpeedUp& speed_up) {
  return {{"value", speed_up.value}, {"low", speed_up.low}, {"high", speed_up.high}};
}

nlohmann::ordered_json predicted_json(const analysis::PredictedChange& predicted) {
  nlohmann::ordered_json json = {{"speedUp", speed_up_json(predicted.speed_up)},
                                 {"uncalibrated", speed_up_json(predicted.uncalibrated.value_or(predicted.speed_up))},
                                 {"verdict", direction_name(analysis::direction_of(predicted.speed_up))},
                                 {"stepMs", predicted.step_ms},
                                 {"measuredShare", predicted.measured_share},
                                 {"byRule", predicted.by_rule},
                                 {"wideBecause", analysis::is_wide(predicted.speed_up) ? predicted.largest_error : ""}};
  json["peakBytes"] = predicted.peak_bytes.has_value() ? nlohmann::ordered_json(*predicted.peak_bytes) : nullptr;
  json["reservedBytes"] =
      predicted.reserved_bytes.has_value() ? nlohmann::ordered_json(*predicted.reserved_bytes) : nullptr;
  return json;
}

nlohmann::ordered_json tried_json(const analysis::TriedChange& tried) {
  nlohmann::ordered_json json = {{"speedUp", speed_up_json(tried.speed_up)},
                                 {"verdict", direction_name(analysis::direction_of(tried.speed_up))},
                                 {"unchangedMs", tried.unchanged_ms},
                                 {"changedMs", tried.changed_ms},
                                 {"unchangedPeakBytes", tried.unchanged_peak_bytes},
                                 {"changedPeakBytes", tried.changed_peak_bytes}};
  const bool compared = tried.loss_drift.has_value();
  json["lossIsNumber"] = compared ? nlohmann::ordered_json(std::isfinite(*tried.loss_drift)) : nullptr;
  json["lossDrift"] =
      compared && std::isfinite(*tried.loss_drift) ? nlohmann::ordered_json(*tried.loss_drift) : nullptr;
  json["seedDrift"] = tried.seed_drift.has_value() ? nlohmann::ordered_json(*tried.seed_drift) : nullptr;
  return json;
}

}  // namespace

std::string json_what_if(const analysis::WhatIf& answer) {
  nlohmann::ordered_json changes = nlohmann::ordered_json::array();
  for (const analysis::ChangeAnswer& row : answer.changes) {
    changes.push_back({{"change", row.change},
                       {"title", row.title},
                       {"takes", row.takes},
                       {"applies", row.reason.empty()},
                       {"reason", row.reason},
                       {"predicted", row.predicted.has_value() ? predicted_json(*row.predicted) : nullptr},
                       {"notPredicted", row.not_predicted},
                       {"peakBytes", row.peak_bytes.has_value() ? nlohmann::ordered_json(*row.peak_bytes) : nullptr},
                       {"tried", row.tried.has_value() ? tried_json(*row.tried) : nullptr},
                       {"notTried", row.not_tried},
                       {"bringsNothing", analysis::brings_nothing(row, answer.peak_bytes)}});
  }
  const nlohmann::ordered_json json = {
      {"version", 1},
      {"entry", {{"path", answer.entry_path}, {"projectRoot", answer.project_root}}},
      {"fromTrace", answer.from_trace},
      {"batchSize", answer.batch_size},
      {"stepMs", answer.step_ms},
      {"peakBytes", answer.peak_bytes},
      {"device", answer.device},
      {"operations", answer.operations},
      {"operationsMeasured", answer.operations_measured},
      {"trySeconds", answer.try_seconds.has_value() ? nlohmann::ordered_json(*answer.try_seconds) : nullptr},
      {"changes", changes},
      {"warnings", answer.warnings}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
