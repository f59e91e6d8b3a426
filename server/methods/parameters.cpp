#include "methods/parameters.h"

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "analysis/prediction/predictor.h"
#include "protocol/json_fields.h"

namespace ridgeline::methods {

using analysis::Quantity;
using protocol::Json;

const analysis::Node& node_in(const Figures& figures, const Json& params) {
  const auto id = protocol::optional_member<std::string>(params, "node").value_or("");
  const analysis::Node* node = figures.node(id);
  if (node == nullptr) {
    throw protocol::InvalidValue("node: the profile has no node " + id.substr(0, 60));
  }
  return *node;
}

analysis::Question question_in(const Json& params) {
  static constexpr std::array<std::pair<const char*, Quantity>, 5> kQuantities = {
      {{"batchSize", Quantity::kBatchSize},
       {"samplesPerSecond", Quantity::kThroughput},
       {"bytes", Quantity::kMemory},
       {"throughputShare", Quantity::kThroughputShare},
       {"balance", Quantity::kBalance}}};
  std::optional<analysis::Question> question;
  for (const auto& [name, quantity] : kQuantities) {
    const auto value = protocol::optional_member<double>(params, name);
    if (!value.has_value()) {
      continue;
    }
    const bool whole = quantity != Quantity::kBatchSize ||
                       (*value == std::floor(*value) && *value <= static_cast<double>(analysis::kMaxBatchSize));
    const bool small = quantity != Quantity::kThroughputShare || *value <= 1;
    if (!std::isfinite(*value) || *value <= 0 || !whole || !small) {
      throw protocol::InvalidValue(std::string(name) + ": is out of its range");
    }
    if (question.has_value()) {
      throw protocol::InvalidValue(std::string(name) + ": only one question can be asked at a time");
    }
    question = analysis::Question{quantity, *value};
  }
  if (!question.has_value()) {
    throw protocol::InvalidValue("batchSize, samplesPerSecond, bytes, throughputShare or balance is missing");
  }
  return *question;
}

}  // namespace ridgeline::methods
