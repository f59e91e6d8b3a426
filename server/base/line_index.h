// Where the lines of a text begin, updated as the text is edited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ridgeline::base {

/// A line ends with "\n", "\r\n" or "\r", as it does for Python and for LSP; the last one ends with the text. So a
/// text has one line more than it has line ends. Lines are counted from 0. Texts are smaller than 4 GiB.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);

  std::size_t count() const { return starts_.size(); }
  /// The line that contains the byte at `offset`; the last line when `offset` is beyond the text.
  std::size_t line_of(std::size_t offset) const;
  /// The byte that `line` begins with. `line` < count().
  std::size_t start_of(std::size_t line) const { return starts_[line]; }
  /// The text of `line` without its end. `text` is the text of this index.
  std::string_view line_in(std::string_view text, std::size_t line) const;

  /// Updates the index after the bytes [begin, end) were replaced by `size` bytes; `text` is the result. Lines after
  /// them are shifted, not scanned again.
  void replace(std::size_t begin, std::size_t end, std::size_t size, std::string_view text);

 private:
  std::vector<std::uint32_t> starts_;
};

}  // namespace ridgeline::base
