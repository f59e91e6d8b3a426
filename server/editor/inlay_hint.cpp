#include "editor/inlay_hint.h"

#include <algorithm>

#include "editor/batch_size_method.h"
#include "report/labels.h"
#include "report/wording.h"

namespace ridgeline::editor {

namespace {

/// What is known of the batch size in the code, at the end of its line, where that is not the profiled one.
void add_batch(const Snapshot& snapshot, const protocol::Range& range, std::vector<protocol::InlayHint>& hints) {
  const auto batch = other_batch_in_code(snapshot);
  if (!batch.has_value() || !snapshot.source->entry_point->batch_size.can_be_edited()) {
    return;
  }
  const std::size_t line = snapshot.range(snapshot.source->entry_point->batch_size.literal).start.line;
  if (line >= range.start.line && line <= range.end.line) {
    protocol::InlayHint hint;
    hint.position = snapshot.document.position(snapshot.document.text().line_end(line));
    hint.label = report::batch_label(*batch);
    hint.padding_left = true;
    hints.push_back(std::move(hint));
  }
}

}  // namespace

std::vector<protocol::InlayHint> inlay_hints(const Snapshot& snapshot, const RangeParams& params) {
  const protocol::Range& range = params.range;
  std::vector<protocol::InlayHint> hints;
  if (snapshot.file() == nullptr || !snapshot.settings->inlay_hints) {
    return hints;
  }
  add_batch(snapshot, range, hints);
  const analysis::Profile& profile = snapshot.figures()->profile();
  const std::string stale = snapshot.stale_note();
  for (const auto& [profiled_line, line] : snapshot.file()->lines) {
    const auto now = snapshot.current_line(profiled_line);
    const double most =
        std::max(report::ratio(line->self_ms, profile.iteration.ms.value),
                 report::ratio(static_cast<double>(line->peak_bytes), static_cast<double>(profile.peak_bytes)));
    if (!now.has_value() || *now < range.start.line || *now > range.end.line ||
        most < snapshot.settings->inlay_hint_threshold) {
      continue;
    }
    protocol::InlayHint hint;
    const std::string label = report::line_label(*line, profile, snapshot.settings->inlay_hint_format);
    if (label.empty()) {
      continue;
    }
    hint.position = snapshot.document.position(snapshot.document.text().line_end(*now));
    hint.label = stale.empty() ? label : label + " (stale)";
    hint.tooltip = protocol::MarkupContent{protocol::Markdown::text(report::line_explanation(*line, profile)),
                                           snapshot.client.hover.markdown};
    hint.padding_left = true;
    hints.push_back(std::move(hint));
  }
  return hints;
}

}  // namespace ridgeline::editor
