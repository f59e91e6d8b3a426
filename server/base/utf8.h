// UTF-8, byte by byte.
#pragma once

#include <cstddef>
#include <string_view>

namespace ridgeline::base {

/// Whether the byte is not the first of its character.
constexpr bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// The first `size` bytes of `text`, or a few less, so that no character is cut in two.
constexpr std::string_view cut_utf8(std::string_view text, std::size_t size) {
  while (size > 0 && size < text.size() && is_continuation(text[size])) {
    --size;
  }
  return text.substr(0, size);
}

}  // namespace ridgeline::base
