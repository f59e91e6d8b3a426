#include "report/page.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "report/units.h"

namespace ridgeline::report {
namespace {

/// What stands between blanks in a painted line. Each sets its own colour and ends it.
struct Piece {
  int gap = 0;  ///< blanks before it
  int width = 0;
  std::string painted;
};

/// The pieces of a line, which `gap` blanks or more part, each cut to `room`.
std::vector<Piece> pieces_of(std::string_view line, int gap, int room = std::numeric_limits<int>::max()) {
  constexpr std::string_view kEnd = "\x1b[0m";
  std::vector<Piece> pieces;
  std::string color;  // at this place of the line
  Piece piece;
  int blanks = 0;
  while (!line.empty()) {
    if (line.front() == '\x1b') {
      const std::size_t size = std::min(line.find('m'), line.size() - 1) + 1;
      color = line.substr(0, size) == kEnd ? "" : std::string(line.substr(0, size));
      piece.painted += piece.painted.empty() ? "" : line.substr(0, size);
      line.remove_prefix(size);
      continue;
    }
    if (line.front() == ' ') {
      ++blanks;
      line.remove_prefix(1);
      continue;
    }
    if (blanks >= gap && !piece.painted.empty()) {
      piece.painted += color.empty() ? "" : kEnd;
      pieces.push_back(std::exchange(piece, {}));
    }
    if (piece.painted.empty()) {
      piece.gap = blanks;
      piece.painted = color;
    } else {
      piece.painted.append(static_cast<std::size_t>(blanks), ' ');
      piece.width += blanks;
    }
    blanks = 0;
    const std::string_view text = line.substr(0, std::min(line.find_first_of(" \x1b"), line.size()));
    const std::string fitting = clip(text, room - piece.width);
    piece.painted += fitting;
    piece.width += columns(fitting);
    line.remove_prefix(text.size());
  }
  if (!piece.painted.empty()) {
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

/// The pieces of a line, those that are wider than `room` as words.
std::vector<Piece> pieces_within(std::string_view line, int room) {
  std::vector<Piece> fitting;
  for (Piece& piece : pieces_of(line, 2)) {
    if (piece.width <= room) {
      fitting.push_back(std::move(piece));
      continue;
    }
    std::vector<Piece> words = pieces_of(piece.painted, 1, room);
    words.front().gap = piece.gap;
    std::move(words.begin(), words.end(), std::back_inserter(fitting));
  }
  return fitting;
}

std::string folded(std::string_view line, int width) {
  constexpr int kMore = 4;
  const int indent = std::min(static_cast<int>(line.find_first_not_of(' ')), width / 2);
  std::string text = left("", indent);
  int used = indent;
  bool is_first = true;
  for (const Piece& piece : pieces_within(line, width - indent - kMore)) {
    const int gap = is_first ? 0 : piece.gap;
    if (!is_first && used + gap + piece.width > width) {
      text += "\n" + left("", indent + kMore);
      used = indent + kMore;
    } else {
      text += left("", gap);
      used += gap;
    }
    text += piece.painted;
    used += piece.width;
    is_first = false;
  }
  return text;
}

int painted_columns(std::string_view line) {
  int width = 0;
  for (const Piece& piece : pieces_of(line, 1)) {
    width += piece.gap + piece.width;
  }
  return width;
}

}  // namespace

std::string Page::paint(std::string_view code, std::string_view text) const {
  if (!color_ || text.find_first_not_of(' ') == std::string_view::npos) {
    return std::string(text);
  }
  return fmt::format("{}{}\x1b[0m", code, text);
}

std::string Page::full_bar(double fraction, int cells, std::string_view track) const {
  const std::string filled = bar(fraction, cells);
  std::string rest;
  for (int i = columns(filled); i < cells; ++i) {
    rest += track;
  }
  return accent(filled) + dim(rest);
}

void Page::line(std::string_view content) {
  content = content.substr(0, content.find_last_not_of(' ') + 1);
  text_ += is_narrow() && painted_columns(content) > terminal_width_ ? folded(content, terminal_width_)
                                                                     : std::string(content);
  text_ += '\n';
}

void Page::flow(std::string start, int indent, const std::vector<Item>& items) {
  int used = indent;
  for (const Item& item : items) {
    const std::string text = item.word.empty() ? item.value : dim(item.word) + " " + item.value;
    const int size = columns(item.word) + (item.word.empty() ? 0 : 1) + columns(item.value);
    if (used > indent && used + 3 + size > terminal_width_) {
      line(start);
      start = left("", indent);
      used = indent;
    }
    if (used > indent) {
      start += dim(" · ");
    }
    used += size + (used > indent ? 3 : 0);
    start += text;
  }
  line(start);
}

void Page::prose(std::string_view label, std::string_view text, int indent) {
  constexpr std::string_view kNoBreak = "\u00A0";
  const auto emit = [&](std::string row) {
    for (std::size_t at = 0; (at = row.find(kNoBreak)) != std::string::npos;) {
      row.replace(at, kNoBreak.size(), " ");
    }
    line(row);
  };
  std::string row = "  " + bold(left(label, indent - 2));
  int used = indent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.empty()) {
      continue;
    }
    const std::string fitting = clip(word, terminal_width_ - indent);
    const bool follows = used > indent;
    if (follows && used + 1 + columns(fitting) > terminal_width_) {
      emit(std::exchange(row, left("", indent)));
      used = indent;
    }
    row += (used > indent ? " " : "") + fitting;
    used += columns(fitting) + (used > indent ? 1 : 0);
  }
  emit(std::move(row));
}

}  // namespace ridgeline::report
