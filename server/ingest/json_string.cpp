#include "ingest/json_string.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "base/text.h"
#include "protocol/shown_text.h"

namespace ridgeline::ingest {

namespace {

constexpr std::uint32_t kReplacementCharacter = 0xFFFD;

void append_utf8(std::uint32_t code, std::string& text) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0U | code >> 6U);
    add(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    add(0xE0U | code >> 12U);
    add(0x80U | (code >> 6U & 0x3FU));
    add(0x80U | (code & 0x3FU));
  } else {
    add(0xF0U | code >> 18U);
    add(0x80U | (code >> 12U & 0x3FU));
    add(0x80U | (code >> 6U & 0x3FU));
    add(0x80U | (code & 0x3FU));
  }
}

bool is_surrogate(std::uint32_t code) { return code >= 0xD800 && code < 0xE000; }

/// The four digits of hexadecimal at the front of `text`.
bool take_hexadecimal(std::string_view& text, std::uint32_t& code) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + std::min<std::size_t>(4, text.size()), code, 16);
  if (text.size() < 4 || error != std::errc() || end != text.data() + 4) {
    return false;
  }
  text.remove_prefix(4);
  return true;
}

/// Of \uXXXX, of which `rest` is what follows the u; also of two that are one character.
bool append_code(std::string_view& rest, std::string& text) {
  std::uint32_t code = 0;
  if (!take_hexadecimal(rest, code)) {
    return false;
  }
  std::string_view behind = rest;
  std::uint32_t low = 0;
  if (code >= 0xD800 && code < 0xDC00 && behind.starts_with("\\u")) {
    behind.remove_prefix(2);
    if (take_hexadecimal(behind, low) && low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
      rest = behind;
    }
  }
  append_utf8(is_surrogate(code) ? kReplacementCharacter : code, text);
  return true;
}

/// Whether the backslashes separate folders: behind a drive, or before a Python file and its line.
bool is_bare_path(std::string_view raw) {
  const bool drive = raw.size() > 3 && std::isalpha(static_cast<unsigned char>(raw[0])) != 0 && raw[1] == ':' &&
                     raw[2] == '\\' && raw[3] != '\\' && raw[3] != '/' && raw[3] != '"';
  const std::size_t file = raw.find(".py(");
  return drive || (file != std::string_view::npos && file == raw.rfind(".py(") && !base::contains(raw, "\\\\") &&
                   !base::contains(raw, "\\\"") && !base::contains(raw, "\\u") && !base::contains(raw, "\\/"));
}

}  // namespace

bool unescape(std::string_view raw, std::string& text) {
  text.clear();
  if (is_bare_path(raw)) {
    text = raw;
    return true;
  }
  while (!raw.empty()) {
    const std::size_t backslash = std::min(raw.find('\\'), raw.size());
    text += raw.substr(0, backslash);
    raw.remove_prefix(backslash);
    if (raw.empty()) {
      return true;
    }
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kCharacters = "\"\\/\b\f\n\r\t";
    const std::size_t which = raw.size() > 1 ? kNames.find(raw[1]) : std::string_view::npos;
    const bool is_code = raw.size() > 1 && raw[1] == 'u';
    raw.remove_prefix(std::min<std::size_t>(2, raw.size()));
    if (which != std::string_view::npos) {
      text += kCharacters[which];
    } else if (!is_code || !append_code(raw, text)) {
      return false;
    }
  }
  return true;
}

bool is_valid_utf8(std::string_view text) {
  const auto is_ascii = [](char byte) { return static_cast<unsigned char>(byte) < 0x80; };
  while (!text.empty()) {
    const auto first = std::ranges::find_if_not(text, is_ascii);
    text.remove_prefix(static_cast<std::size_t>(first - text.begin()));
    if (text.empty()) {
      return true;
    }
    const protocol::Character character = protocol::first_character(text);
    if (character.bytes == 1) {
      return false;
    }
    text.remove_prefix(character.bytes);
  }
  return true;
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const protocol::Character character = protocol::first_character(text);
    const bool is_invalid = character.bytes == 1 && static_cast<unsigned char>(text[0]) >= 0x80;
    valid += is_invalid ? std::string_view("\uFFFD") : text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
  }
  return valid;
}

}  // namespace ridgeline::ingest
