// How long the inputs of a batch are, as the user's length_provider says. Untrusted, as all that the user's processes
// send.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ridgeline::protocol {

struct BatchLength {
  double total = 0;  ///< of all samples of the batch; positive
  std::string unit;  ///< "seconds", "tokens"; the user's word
};
inline constexpr std::size_t kMaxUnitBytes = 64;

/// Throws std::exception where it is none.
BatchLength batch_length_from(const nlohmann::json& value);

}  // namespace ridgeline::protocol
