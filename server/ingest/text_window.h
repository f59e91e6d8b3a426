// The text of a trace, of which only a window is in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/byte_source.h"

namespace ridgeline::ingest {

constexpr bool is_blank(char byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

/// Positions are bytes from the beginning of the text. Views are valid until more is read.
class TextWindow {
 public:
  /// How much is held from keep() on; of what is longer, nothing is kept.
  static constexpr std::size_t kMostKept = std::size_t{1} << 20U;

  explicit TextWindow(ByteSource source);

  std::uint64_t position() const { return base_ + at_; }
  /// Reads more behind what is held; false at the end.
  bool fill();
  bool is_over() { return at_ == end_ && !fill(); }
  /// The next byte; 0 at the end, where is_over() tells that from a byte that is 0.
  char peek() { return is_over() ? '\0' : buffer_[at_]; }
  void advance(std::size_t bytes) { at_ += bytes; }
  /// The next byte that is no blank, as peek(); a blank behind kMostKept of them.
  char peek_behind_blanks() {
    char byte = peek();
    for (std::size_t i = 0; i < kMostKept && is_blank(byte); ++i) {
      ++at_;
      byte = peek();
    }
    return byte;
  }

  /// What is held from here on, and right before.
  std::string_view ahead() const { return {buffer_.data() + at_, end_ - at_}; }
  std::string_view behind() const { return {buffer_.data(), at_}; }

  /// From here on the text is held, so that go_to() can return.
  void keep() { keep_ = position(); }
  void forget() { keep_ = kNothing; }
  bool keeps() const { return keep_ != kNothing; }
  /// Where keep() was called. Needs keeps().
  std::uint64_t kept_from() const { return keep_; }
  /// `position` must be held.
  void go_to(std::uint64_t position) { at_ = static_cast<std::size_t>(position - base_); }

  /// `at byte 1234 (line 5, column 6), near "…"`; the byte alone where it is no longer held. Reads what it quotes.
  std::string place(std::uint64_t position);

 private:
  static constexpr std::uint64_t kNothing = std::numeric_limits<std::uint64_t>::max();

  /// Bytes at the buffer's beginning that are no longer needed.
  std::size_t passed();

  ByteSource source_;
  std::vector<char> buffer_;
  std::uint64_t base_ = 0;  ///< position of the buffer's first byte
  std::size_t at_ = 0;      ///< of the buffer
  std::size_t end_ = 0;     ///< likewise: behind what was read
  std::uint64_t keep_ = kNothing;
  std::uint64_t lines_ = 0;       ///< before the buffer
  std::uint64_t line_begin_ = 0;  ///< position of the line that the buffer begins in
  bool is_at_end_ = false;        ///< the source has no more
};

}  // namespace ridgeline::ingest
