#include "editor/inlay_hint.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "editor/batch_size_method.h"
#include "editor/line_figures.h"
#include "report/labels.h"

namespace ridgeline::editor {

namespace {

/// Of hot lines, in one range: a client asks for those that can be seen.
constexpr std::size_t kMostHot = 12;

protocol::InlayHint hint_at(const Snapshot& snapshot, std::size_t line, std::string label) {
  protocol::InlayHint hint;
  hint.position = snapshot.document.position(snapshot.document.text().line_end(line));
  hint.label = std::move(label);
  hint.padding_left = true;
  return hint;
}

/// What is known of the batch size in the code, at the end of its line, where that is not the profiled one.
void add_batch(const Snapshot& snapshot, const protocol::Range& range, std::vector<protocol::InlayHint>& hints) {
  const auto batch = other_batch_in_code(snapshot);
  const auto size = written_batch_size(*snapshot.source, snapshot.own.get());
  if (!batch.has_value() || !size.has_value()) {
    return;
  }
  const std::size_t line = snapshot.range(size->literal).start.line;
  if (line >= range.start.line && line <= range.end.line) {
    hints.push_back(hint_at(snapshot, line, report::batch_label(*batch)));
  }
}

/// A line of the range with what it costs.
struct HotLine {
  std::size_t line = 0;  ///< now
  double part = 0;       ///< the greater of its shares
  std::string label;
  std::string tooltip;
};

std::vector<HotLine> lines_in(const Snapshot& snapshot, const protocol::Range& range) {
  const Settings& settings = *snapshot.settings;
  const analysis::Profile& profile = snapshot.figures()->profile();
  const double least = settings.inlay_hints == ShownHints::kAll ? 0 : settings.inlay_hint_threshold;
  std::vector<HotLine> lines;
  const auto add = [&](std::optional<std::size_t> now, const analysis::LineCost& cost) {
    const double part = shown_part(cost, profile);
    if (!now.has_value() || *now < range.start.line || *now > range.end.line || part < least) {
      return;
    }
    std::string label = report::line_label(cost, profile, settings.inlay_hint_format);
    if (!label.empty()) {
      lines.push_back({*now, part, std::move(label), report::line_explanation(cost, profile)});
    }
  };
  for (const auto& [profiled_line, cost] : snapshot.file()->lines) {
    add(snapshot.current_line(profiled_line), *cost);
  }
  for (const FunctionCost& function : function_costs(snapshot)) {
    add(function.line, function.cost);
  }
  return lines;
}

}  // namespace

std::vector<protocol::InlayHint> inlay_hints(const Snapshot& snapshot, const RangeParams& params) {
  std::vector<protocol::InlayHint> hints;
  if (snapshot.file() == nullptr || snapshot.settings->inlay_hints == ShownHints::kNone) {
    return hints;
  }
  add_batch(snapshot, params.range, hints);
  std::vector<HotLine> lines = lines_in(snapshot, params.range);
  if (snapshot.settings->inlay_hints == ShownHints::kHot && lines.size() > kMostHot) {
    std::ranges::stable_sort(lines, std::greater{}, &HotLine::part);
    lines.resize(kMostHot);
    std::ranges::stable_sort(lines, {}, &HotLine::line);
  }
  const std::string stale = snapshot.stale_note().empty() ? "" : " (stale)";
  for (HotLine& line : lines) {
    protocol::InlayHint hint = hint_at(snapshot, line.line, std::move(line.label) + stale);
    hint.tooltip = protocol::MarkupContent{protocol::Markdown::text(line.tooltip), snapshot.client.hover.markdown};
    hints.push_back(std::move(hint));
  }
  return hints;
}

}  // namespace ridgeline::editor
