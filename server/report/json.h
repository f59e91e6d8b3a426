// The JSON report: what protocol/report.schema.json describes, field by field.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"

namespace ridgeline::report {

/// Nothing is rounded, so that sums which close in the profile still close in the report. A double that is not finite
/// becomes null, which the schema rejects where a figure is required: analysis must not make one. Strings are copied as
/// they are; dump with `error_handler_t::replace`, they may hold invalid UTF-8.
nlohmann::ordered_json to_json(const analysis::Profile& profile, const analysis::Outlook& outlook = {});

/// The report as indented text, in valid UTF-8, with a newline at its end.
std::string json_report(const analysis::Profile& profile, const analysis::Outlook& outlook = {});

// Parts that other documents share.
template <typename Value>
nlohmann::ordered_json optional_json(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}
/// Null when it is not finite.
nlohmann::ordered_json number(double value);
nlohmann::ordered_json time_pieces_json(const std::vector<analysis::Piece>& pieces);
nlohmann::ordered_json peak_pieces_json(const std::vector<analysis::Piece>& pieces);
nlohmann::ordered_json phases_json(const analysis::ByPhase& phases);
nlohmann::ordered_json environment_json(const analysis::Environment& environment);
template <typename Value>
nlohmann::ordered_json categories_json(const std::array<Value, analysis::kCategoryCount>& values) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < values.size(); ++i) {
    object[analysis::kCategoryNames[i]] = values[i];
  }
  return object;
}
nlohmann::ordered_json entry_json(const analysis::Profile& profile);
nlohmann::ordered_json batch_json(const std::optional<analysis::BatchPrediction>& batch);
nlohmann::ordered_json skipped_json(const std::vector<analysis::Skipped>& skipped);
/// As the documents spell it; null for none.
nlohmann::ordered_json obstacle_json(analysis::Obstacle obstacle);

}  // namespace ridgeline::report
