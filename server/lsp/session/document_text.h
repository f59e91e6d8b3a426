// A text that changes, and the two ways to name a place in it: a byte offset, and a position as LSP has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/line_index.h"
#include "protocol/lsp.h"

namespace ridgeline::lsp {

enum class PositionEncoding : std::uint8_t { kUtf8, kUtf16 };

/// Line and byte in the line, both from 0.
struct BytePoint {
  std::size_t line = 0;
  std::size_t byte = 0;
  friend bool operator==(const BytePoint&, const BytePoint&) = default;
};

/// What one change did: the bytes [begin, old_end) of the text before became [begin, new_end) of the text after. The
/// points are the same places, `old_end_point` in the text before.
struct ByteEdit {
  std::size_t begin = 0;
  std::size_t old_end = 0;
  std::size_t new_end = 0;
  BytePoint begin_point{};
  BytePoint old_end_point{};
  BytePoint new_end_point{};
  friend bool operator==(const ByteEdit&, const ByteEdit&) = default;
};

/// UTF-8 text in lines, which end with \n, \r\n or \r. The last line has no end, and may be empty.
class Text {
 public:
  explicit Text(std::string bytes = {});

  const std::string& bytes() const { return bytes_; }
  std::size_t line_count() const { return lines_.count(); }
  std::size_t line_begin(std::size_t line) const { return lines_.start_of(line); }
  std::string_view line(std::size_t line) const { return lines_.line_in(bytes_, line); }
  /// Where the line's own end (\n and so on) stands.
  std::size_t line_end(std::size_t line) const { return line_begin(line) + this->line(line).size(); }

  /// The byte at a position. A character past the line's end is the line's end, a line past the last is the end of the
  /// text. Nothing when it is inside a character. Takes as long as the line is.
  std::optional<std::size_t> offset(protocol::Position position, PositionEncoding encoding) const;
  /// The position of a byte; of a character's first byte when it is inside one. `offset` may be the end of the text.
  protocol::Position position(std::size_t offset, PositionEncoding encoding) const;
  BytePoint point(std::size_t offset) const;

  /// Replaces [begin, end) by `bytes`. Lines elsewhere are only moved, not read again.
  ByteEdit replace(std::size_t begin, std::size_t end, std::string_view bytes);

 private:
  std::string bytes_;
  base::LineIndex lines_;
};

}  // namespace ridgeline::lsp
