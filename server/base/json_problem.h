// What is wrong with a JSON text, in words for a user.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline::base {

/// From the message of an exception of nlohmann/json, without its number and what the parser expected:
/// "line 2, column 1: unexpected end of input". Any other message stays as it is.
std::string json_problem(std::string_view message);

}  // namespace ridgeline::base
