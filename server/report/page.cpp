#include "report/page.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "report/units.h"

namespace ridgeline::report {

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
  text_ += content.substr(0, content.find_last_not_of(' ') + 1);
  text_ += '\n';
}

void Page::flow(std::string start, int indent, const std::vector<Item>& items) {
  int used = indent;
  for (const Item& item : items) {
    const std::string text = item.word.empty() ? item.value : dim(item.word) + " " + item.value;
    const int size = columns(item.word) + (item.word.empty() ? 0 : 1) + columns(item.value);
    if (used > indent && used + 3 + size > width_) {
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
    const std::string fitting = clip(word, width_ - indent);
    const bool follows = used > indent;
    if (follows && used + 1 + columns(fitting) > width_) {
      emit(std::exchange(row, left("", indent)));
      used = indent;
    }
    row += (used > indent ? " " : "") + fitting;
    used += columns(fitting) + (used > indent ? 1 : 0);
  }
  emit(std::move(row));
}

}  // namespace ridgeline::report
