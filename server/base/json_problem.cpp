#include "base/json_problem.h"

namespace ridgeline::base {

std::string json_problem(std::string_view message) {
  const std::size_t number = message.find("] ");
  if (!message.starts_with("[json.exception.") || number == std::string_view::npos) {
    return std::string(message);
  }
  message.remove_prefix(number + 2);
  constexpr std::string_view kAt = "parse error at ";
  if (!message.starts_with(kAt)) {
    return std::string(message);
  }
  message.remove_prefix(kAt.size());
  message = message.substr(0, message.find("; expected "));
  const std::size_t place = message.find(": ");
  constexpr std::string_view kSyntax = "syntax error while parsing ";
  if (place != std::string_view::npos && message.substr(place + 2).starts_with(kSyntax)) {
    const std::size_t what = message.find(" - ", place);
    if (what != std::string_view::npos) {
      return std::string(message.substr(0, place + 2)) + std::string(message.substr(what + 3));
    }
  }
  return std::string(message);
}

}  // namespace ridgeline::base
