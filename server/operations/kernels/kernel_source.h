// What the sources of all programs have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridgeline::operations {

/// The beginning of a source: what it was made for and how it is compiled, its constants (kVector is one), the type
/// Vector, smaller(). It leaves an anonymous namespace open.
std::string beginning(std::string_view operation, bool parallel,
                      const std::vector<std::pair<std::string_view, std::int64_t>>& constants);

/// The first `Count` elements of a vector; the others are 0.
inline constexpr std::string_view kLoadFunction = R"code(
template <long Count>
inline Vector load(const float* from) {
  Vector loaded = {};
  __builtin_memcpy(&loaded, from, Count * 4);
  return loaded;
}
)code";

void replace_all(std::string& text, std::string_view token, std::string_view value);

}  // namespace ridgeline::operations
