// Where the lines of a text begin, kept up to date while the text is edited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ridgeline::base {

/// A line ends with "\n", "\r\n" or "\r", as it does for Python and for LSP; the last one ends with the text. So every
/// text has a line, and one more than it has line ends. Lines are counted from 0. Texts are smaller than 4 GiB.
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

  /// The bytes [begin, end) of the text that this index is of were replaced by `size` bytes, which made it `text`.
  /// Lines after them are moved, not read again.
  void replace(std::size_t begin, std::size_t end, std::size_t size, std::string_view text);

 private:
  std::vector<std::uint32_t> starts_;
};

}  // namespace ridgeline::base
