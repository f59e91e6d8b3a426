// Places in a text: byte offsets into UTF-8, and lines counted from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
std::string_view slice(std::string_view text, Span span);

/// The first `size` bytes of `text`, or a few less, so that no character is cut in two.
std::string_view cut_utf8(std::string_view text, std::size_t size);

/// Where the lines of a text begin. A line ends with "\n", "\r\n" or "\r", as it does for Python and for LSP; the last
/// one ends with the text. So every text has a line, and one more than it has ends of lines.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);

  std::size_t count() const { return starts_.size(); }
  /// The line that holds the byte at `offset`; the last one beyond the text.
  std::size_t line_of(std::size_t offset) const;
  /// The byte that `line` begins with. `line` < count().
  std::size_t start_of(std::size_t line) const { return starts_[line]; }
  /// The text of `line` without its end. `text` is the text of this index.
  std::string_view line_in(std::string_view text, std::size_t line) const;

  /// `replaced` of the text that this index is of was replaced by `size` bytes, which made it `text`.
  void replace(Span replaced, std::size_t size, std::string_view text);

 private:
  std::vector<std::uint32_t> starts_;  ///< texts are at most kMaxTextBytes long, see source_tree.h
};

}  // namespace ridgeline::source
