// The report for a terminal: key figures, the breakdown, the costliest lines, and what to make of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "report/page.h"
#include "report/warnings.h"

namespace ridgeline::report {

/// The text of a line of the user's source, without its newline; nothing when it cannot be had.
using SourceLines = std::function<std::optional<std::string>(const analysis::Location&)>;

struct TextOptions {
  int width = 100;          ///< columns of the terminal; taken as 40 to 140
  bool color = false;       ///< ANSI escapes: bold headings, dim secondary text, one accent for bars
  int max_lines = 10;       ///< user lines that get a row of their own
  int max_nodes = 20;       ///< nodes of the breakdown that get one, the costliest; the others are folded
  int max_depth = 6;        ///< levels of the breakdown
  double min_share = 0.01;  ///< of the iteration: what is smaller is folded
  ShownWarnings warnings = ShownWarnings::kFirst;
};

/// No line is wider than the width, and no figure is cut. Every character that comes from the user's code or machine is
/// made printable first. Ends with a newline.
std::string text_report(const analysis::Profile& profile, const analysis::Outlook& outlook, const SourceLines& source,
                        const TextOptions& options = {});

/// What a reader of the figures must know and how they were measured, by label: "warning", "timing", "recording".
std::vector<Item> notes(const analysis::Profile& profile, ShownWarnings warnings = ShownWarnings::kAll);

/// Its end: warnings, how it was measured, and what other batch sizes bring. No colors.
std::string notes_text(const analysis::Profile& profile, const analysis::Outlook& outlook, int width,
                       ShownWarnings warnings = ShownWarnings::kFirst);

}  // namespace ridgeline::report
