// The lines of a report for a terminal, none wider than the page.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridgeline::report {

inline constexpr int kLeastWidth = 40;  ///< columns that a terminal is taken to have at least
inline constexpr int kBeside = 15;      ///< column where text begins beside a label at the margin

/// A word and its figure, which no line break parts.
struct Item {
  std::string word;
  std::string value;
};

/// A text that grows line by line, none wider than the terminal. Colour is ANSI escapes, or none at all; text that is
/// painted already must not be measured with `columns`.
class Page {
 public:
  /// `width`: columns of the terminal.
  Page(int width, bool color) : terminal_width_(width), color_(color) {}

  /// What tables are laid out for: the terminal's columns, but no fewer than 80.
  int width() const { return std::max(terminal_width_, 80); }

  int terminal_width() const { return terminal_width_; }

  /// Whether the terminal has no room for a table: `line` folds its rows.
  bool is_narrow() const { return terminal_width_ < 80; }
  std::string take() { return std::move(text_); }

  std::string bold(std::string_view text) const { return paint("\x1b[1m", text); }
  std::string dim(std::string_view text) const { return paint("\x1b[2m", text); }
  std::string accent(std::string_view text) const { return paint("\x1b[36m", text); }

  /// A bar of exactly `cells` columns, the rest of it filled with `track`.
  std::string full_bar(double fraction, int cells, std::string_view track) const;

  /// One line, without the blanks at its end. What is wider than the terminal is folded between columns, which two
  /// blanks or more part, or else between words; what follows is indented by four more columns.
  void line(std::string_view content = {});

  /// `start`, which takes `indent` columns, then the items, on as many lines as they need.
  void flow(std::string start, int indent, const std::vector<Item>& items);

  /// The words of `text` from column `indent` on; `label` stands before them. A no-break space holds words together.
  void prose(std::string_view label, std::string_view text, int indent);

 private:
  std::string paint(std::string_view code, std::string_view text) const;

  int terminal_width_;
  bool color_;
  std::string text_;
};

}  // namespace ridgeline::report
