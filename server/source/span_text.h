// Places in a text: byte offsets into UTF-8.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
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

/// The bytes of `text` in `span`, which is clamped to the text.
constexpr std::string_view slice(std::string_view text, Span span) {
  const std::size_t begin = std::min(span.begin, text.size());
  return text.substr(begin, std::max(span.end, begin) - begin);
}

/// `text` with all edits made. They are in order, do not overlap, and lie in the text.
inline std::string edited(std::string text, std::span<const TextEdit> edits) {
  for (std::size_t i = edits.size(); i-- > 0;) {
    text.replace(edits[i].span.begin, edits[i].span.end - edits[i].span.begin, edits[i].replacement);
  }
  return text;
}

/// Whether `now` is `before` with another decimal number, or the same one, in the place of `literal`.
constexpr bool differ_in_number_only(std::string_view before, Span literal, std::string_view now) {
  if (literal.begin > literal.end || literal.end > before.size()) {
    return false;
  }
  const std::string_view head = before.substr(0, literal.begin);
  const std::string_view tail = before.substr(literal.end);
  if (now.size() <= head.size() + tail.size() || !now.starts_with(head) || !now.ends_with(tail)) {
    return false;
  }
  const std::string_view number = now.substr(head.size(), now.size() - head.size() - tail.size());
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  return is_digit(number.front()) &&
         std::ranges::all_of(number, [&](char letter) { return letter == '_' || is_digit(letter); });
}

constexpr bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace ridgeline::source
