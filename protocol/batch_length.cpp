#include "protocol/batch_length.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace ridgeline::protocol {

BatchLength batch_length_from(const nlohmann::json& value) {
  BatchLength length{value.at("total").get<double>(), value.at("unit").get<std::string>()};
  if (!std::isfinite(length.total) || length.total <= 0 || length.unit.empty() || length.unit.size() > kMaxUnitBytes) {
    throw std::invalid_argument("a batch has no such length");
  }
  return length;
}

}  // namespace ridgeline::protocol
