#include "lsp/session/document_text.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/utf8.h"

namespace ridgeline::lsp {

namespace {

/// Whether the character that begins with this byte has two units in UTF-16, not one.
bool is_wide(char first) { return static_cast<unsigned char>(first) >= 0xF0; }

/// A character is counted at its first byte. Eight bytes at a time: a line may be the whole text.
std::size_t units_in(std::string_view bytes) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  std::size_t units = 0;
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    const std::uint64_t first = (~(word >> 7) | (word >> 6)) & kOnes;
    const std::uint64_t wide = (word >> 7) & (word >> 6) & (word >> 5) & (word >> 4) & kOnes;
    units += ((first + wide) * kOnes) >> 56;  // the sum of the bytes, each at most two
  }
  for (; at < bytes.size(); ++at) {
    units += static_cast<std::size_t>(!base::is_continuation(bytes[at])) + static_cast<std::size_t>(is_wide(bytes[at]));
  }
  return units;
}

/// The byte that is `units` UTF-16 units from the line's begin. Absent when that is inside a character.
std::optional<std::size_t> byte_of_units(std::string_view line, std::size_t units) {
  constexpr std::size_t kBlock = 4096;
  std::size_t byte = 0;
  for (std::size_t more = units_in(line.substr(0, kBlock)); byte + kBlock < line.size() && more < units;
       more = units_in(line.substr(byte, kBlock))) {
    units -= more;
    byte += kBlock;
  }
  while (byte < line.size() && (units > 0 || base::is_continuation(line[byte]))) {
    const std::size_t width = units_in(line.substr(byte, 1));
    if (width > units) {
      return std::nullopt;
    }
    units -= width;
    ++byte;
  }
  return byte;
}

std::uint32_t as_position(std::size_t number) {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  return static_cast<std::uint32_t>(std::min(number, kMost));
}

}  // namespace

Text::Text(std::string bytes) : bytes_(std::move(bytes)), lines_(bytes_) {}

std::optional<std::size_t> Text::offset(protocol::Position position, PositionEncoding encoding) const {
  if (position.line >= line_count()) {
    return bytes_.size();
  }
  const std::string_view text = line(position.line);
  const std::size_t begin = line_begin(position.line);
  if (encoding == PositionEncoding::kUtf8) {
    const std::size_t byte = std::min<std::size_t>(position.character, text.size());
    const bool inside = byte < text.size() && base::is_continuation(text[byte]);
    return inside ? std::nullopt : std::optional(begin + byte);
  }
  const std::optional<std::size_t> byte = byte_of_units(text, position.character);
  return byte.has_value() ? std::optional(begin + *byte) : std::nullopt;
}

protocol::Position Text::position(std::size_t offset, PositionEncoding encoding) const {
  offset = std::min(offset, bytes_.size());
  while (offset > 0 && offset < bytes_.size() && base::is_continuation(bytes_[offset])) {
    --offset;
  }
  const BytePoint at = point(offset);
  // Between \r and \n there is no position: the line's end is before both.
  const std::string_view text = line(at.line);
  const std::string_view before = text.substr(0, std::min(at.byte, text.size()));
  return {as_position(at.line), as_position(encoding == PositionEncoding::kUtf8 ? before.size() : units_in(before))};
}

BytePoint Text::point(std::size_t offset) const {
  const std::size_t line = lines_.line_of(offset);
  return {line, offset - lines_.start_of(line)};
}

ByteEdit Text::replace(std::size_t begin, std::size_t end, std::string_view bytes) {
  ByteEdit edit{begin, end, begin + bytes.size(), point(begin), point(end), {}};
  bytes_.replace(begin, end - begin, bytes);
  lines_.replace(begin, end, bytes.size(), bytes_);
  edit.new_end_point = point(edit.new_end);
  return edit;
}

}  // namespace ridgeline::lsp
