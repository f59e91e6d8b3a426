#include "protocol/shown_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace ridgeline::protocol {

namespace {

constexpr char32_t kReplacement = 0xFFFD;

/// Controls, and the marks that can make a line read other than it is (Boucher and Anderson, "Trojan Source", 2021).
bool is_unsafe(char32_t code) {
  static constexpr std::array<std::pair<char32_t, char32_t>, 8> kRanges = {{{0x00, 0x1F},
                                                                            {0x7F, 0x9F},
                                                                            {0x061C, 0x061C},
                                                                            {0x200E, 0x200F},
                                                                            {0x2028, 0x202E},
                                                                            {0x2060, 0x206F},
                                                                            {0xFEFF, 0xFEFF},
                                                                            {0xE0000, 0xE007F}}};
  return std::ranges::any_of(kRanges, [&](const auto& range) { return range.first <= code && code <= range.second; });
}

/// At most `most` bytes, of whole characters.
std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) {
    return text;
  }
  constexpr std::string_view kMore = "…";
  std::size_t end = most - kMore.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) {
    --end;
  }
  return text.substr(0, end).append(kMore);
}

/// A blank between the two characters of each `pair`.
void part(std::string& text, std::string_view pair) {
  for (std::size_t at = text.find(pair); at != std::string::npos; at = text.find(pair, at + 1)) {
    text.insert(at + 1, " ");
  }
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool is_letter(char letter) { return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'); }
/// Whether it is a letter of a word by CommonMark's rule for underscores; characters beyond ASCII count as letters.
bool is_word(char letter) {
  return is_digit(letter) || is_letter(letter) || (static_cast<unsigned char>(letter) & 0x80U) != 0;
}

bool is_www(std::string_view text) {
  return text.size() >= 3 && text.substr(text.size() - 3).find_first_not_of("wW") == std::string_view::npos;
}

/// Whether the character could begin or end something in CommonMark or GitHub's extensions of it.
bool marks_up(std::string_view text, std::size_t at) {
  const char before = at > 0 ? text[at - 1] : '\0';
  const char after = at + 1 < text.size() ? text[at + 1] : '\0';
  switch (text[at]) {
    case '\\':
    case '`':
    case '*':
    case '[':
    case ']':
    case '|':
    case '~':
    case '@':  // mail addresses become links
      return true;
    case '_':
      return !is_word(before) || !is_word(after);
    case '<':
      return is_letter(after) || after == '/' || after == '!' || after == '?';
    case '&':
      return is_letter(after) || after == '#';
    case ':':
      return after == '/';  // addresses become links
    case '.':
      return is_www(text.substr(0, at));  // "www.…" does, too
    case '$':
      return after == '(';  // an icon in VS Code
    default:
      return false;
  }
}

/// Where the text begins like a block (a heading, a quotation, an item, a rule), the character that makes it one.
std::size_t block_mark(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == text.size()) {
    return std::string_view::npos;
  }
  const char mark = text[digits];
  const char after = digits + 1 < text.size() ? text[digits + 1] : ' ';
  const bool numbered = digits > 0 && (mark == '.' || mark == ')') && after == ' ';
  const bool sign = mark == '+' || mark == '-' || mark == '=' || mark == '>';  // of a number, it is none
  const bool marked = digits == 0 && (mark == '#' || (sign && !is_digit(after)));
  return numbered || marked ? digits : std::string_view::npos;
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) {
    return {byte(0), 1};
  }
  const std::size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) {
    return {};
  }
  char32_t code = byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return {};
    }
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
    return {};
  }
  return {code, length};
}

std::string printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const bool blank = character.code == ' ' || (character.code >= '\t' && character.code <= '\r');
    if (blank) {
      safe += ' ';
    } else if (character.code == kReplacement || is_unsafe(character.code)) {
      safe += "\uFFFD";
    } else {
      safe += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return safe;
}

std::string message_text(std::string_view text) {
  text = text.substr(0, kMaxShownBytes + 1);
  std::string shown;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    line.remove_suffix(line.ends_with('\r') ? 1 : 0);
    shown += printable(line);
    shown += end < text.size() ? "\n" : "";
    begin = end + 1;
  }
  part(shown, "](");
  return cut(std::move(shown), kMaxShownBytes);
}

std::string label_text(std::string_view text) {
  std::string shown = printable(text.substr(0, kMaxLabelBytes + 1));
  part(shown, "](");
  part(shown, "$(");
  return cut(std::move(shown), kMaxLabelBytes);
}

Markdown& Markdown::operator+=(Literal more) {
  markup_ += more.text();
  std::ranges::copy_if(more.text(), std::back_inserter(plain_),
                       [](char letter) { return letter != '*' && letter != '|'; });
  return *this;
}

Markdown Markdown::text(std::string_view text) {
  const std::string shown = cut(printable(text), kMaxShownBytes);
  const std::string_view line = std::string_view(shown).substr(std::min(shown.find_first_not_of(' '), shown.size()));
  const std::size_t block = block_mark(line);
  Markdown result;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (i == block || marks_up(line, i)) {
      result.markup_ += '\\';
    }
    result.markup_ += line[i];
  }
  result.plain_ = line;
  return result;
}

Markdown Markdown::link(const Markdown& label, std::string_view uri) {
  const bool plain = std::ranges::all_of(uri, [](char letter) {
    return is_digit(letter) || is_letter(letter) || std::string_view("-._~%/:#").find(letter) != std::string_view::npos;
  });
  if (!plain || !uri.starts_with("file:///") || uri.size() > kMaxLabelBytes) {
    return label;
  }
  Markdown result;
  result.markup_ = "[" + label.markup_ + "](" + std::string(uri) + ")";
  result.plain_ = label.plain_;
  return result;
}

Markdown Markdown::code(std::string_view text) {
  const std::string shown = cut(printable(text), kMaxLabelBytes);
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char letter : shown) {
    run = letter == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  // A pipe would end the cell of a table, also in a code span.
  std::string safe;
  for (const char letter : shown) {
    safe += letter == '|' ? std::string("\\|") : std::string(1, letter);
  }
  const std::string fence(longest + 1, '`');
  const std::string pad = longest > 0 || safe.empty() ? " " : "";
  Markdown result;
  result.markup_ = fence + pad + safe + pad + fence;
  result.plain_ = shown;
  return result;
}

}  // namespace ridgeline::protocol
