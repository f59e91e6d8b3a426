// Helpers for text that the standard library of C++20 lacks.
#pragma once

#include <string_view>

namespace ridgeline::base {

/// Whether `part` occurs in `text`; the empty one always does. std::string_view::contains() comes with C++23.
constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace ridgeline::base
