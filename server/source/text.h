// Places in a text: byte offsets into UTF-8.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ridgeline::source {

/// Bytes [begin, end) of a text.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const Span&, const Span&) = default;
};

/// What to write in place of a span.
struct TextEdit {
  Span span;
  std::string replacement;

  friend bool operator==(const TextEdit&, const TextEdit&) = default;
};

/// The bytes of `text` in `span`, which is cut to the text.
constexpr std::string_view slice(std::string_view text, Span span) {
  const std::size_t begin = std::min(span.begin, text.size());
  return text.substr(begin, std::max(span.end, begin) - begin);
}

constexpr bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace ridgeline::source
