// Figures with an interval, and those that may be absent, as JSON of the predictions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/values/profile.h"

namespace ridgeline::report {

inline nlohmann::ordered_json measured_json(const analysis::Measured& figure) {
  return {{"value", figure.value}, {"low", figure.low}, {"high", figure.high}};
}

template <typename T>
nlohmann::ordered_json value_or_null(const std::optional<T>& value) {
  return value.has_value() ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace ridgeline::report
