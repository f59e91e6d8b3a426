// Helpers for text that the standard library of C++20 lacks.
#pragma once

#include <cstddef>
#include <string_view>

namespace ridgeline::base {

/// Whether `part` occurs in `text`; the empty one always does. std::string_view::contains() comes with C++23.
constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Without spaces and tabs at both ends.
constexpr std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

}  // namespace ridgeline::base
