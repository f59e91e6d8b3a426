#include "editor/change_actions.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "report/rendered_what_if.h"
#include "source/change_edits.h"

namespace ridgeline::editor {

namespace {

using protocol::CodeAction;
using protocol::Range;

std::string title_of(const analysis::ChangeAnswer& answer) {
  return answer.title + ": " + report::speed_up_text(known_speed_up(answer)) +
         (answer.tried.has_value() ? ", tried" : ", predicted");
}

Range lines_of(const Range& range) { return {{range.start.line, 0}, {range.end.line + 1, 0}}; }

protocol::TextDocumentEdit written_in(const Snapshot& snapshot, const std::vector<source::TextEdit>& edits) {
  protocol::TextDocumentEdit written{snapshot.document.uri(), snapshot.document.version(), {}};
  for (const source::TextEdit& edit : edits) {
    written.edits.push_back({snapshot.range(edit.span), edit.replacement});
  }
  return written;
}

bool touches(const protocol::TextDocumentEdit& written, const Range& range) {
  return std::ranges::any_of(written.edits, [&](const auto& edit) { return touch(lines_of(edit.range), range); });
}

CodeAction rewriting(std::string title, protocol::TextDocumentEdit written) {
  CodeAction action;
  action.title = std::move(title);
  action.kind = "refactor.rewrite";
  action.edit = protocol::WorkspaceEdit{{std::move(written)}};
  return action;
}

bool ran_as_it_is(const Snapshot& snapshot) {
  const FileFigures* const file = snapshot.file();
  return file != nullptr && file->text != nullptr && *file->text == snapshot.document.bytes();
}

}  // namespace

const analysis::SpeedUp& known_speed_up(const analysis::ChangeAnswer& answer) {
  return answer.tried.has_value() ? answer.tried->speed_up : answer.predicted->speed_up;
}

bool pays(const analysis::ChangeAnswer& answer) {
  return answer.reason.empty() && (answer.tried.has_value() || answer.predicted.has_value()) &&
         known_speed_up(answer).low > 1 && known_speed_up(answer).value >= analysis::kLeastGain;
}

void add_changes(const Snapshot& snapshot, const Range& range, std::span<const WrittenChange> changes,
                 std::vector<CodeAction>& actions) {
  if (changes.empty() || !ran_as_it_is(snapshot)) {
    return;
  }
  const auto& entry_point = snapshot.source->entry_point;
  const auto& step = entry_point.has_value() ? entry_point->provider(source::ProviderKind::kIteration) : std::nullopt;
  const bool on_step = step.has_value() && touch(snapshot.range(step->name_span), range);
  for (const WrittenChange& change : changes) {
    protocol::TextDocumentEdit written = written_in(snapshot, change.edits);
    if (on_step || touches(written, range)) {
      actions.push_back(rewriting(title_of(change.answer), std::move(written)));
    }
  }
}

void add_paddings(const Snapshot& snapshot, const Range& range, std::vector<CodeAction>& actions) {
  const Figures* const figures = snapshot.figures();
  if (figures == nullptr || !figures->profile().work || figures->profile().work->paddings.empty() ||
      !ran_as_it_is(snapshot)) {
    return;
  }
  const auto tree = source::SourceTree::parse(snapshot.document.bytes());
  for (const analysis::Padding& padding : figures->profile().work->paddings) {
    if (padding.modules.size() != 1 || !tree) {
      continue;
    }
    const std::string change = fmt::format("set:{}:out_features={}", padding.modules.front(), padding.padded);
    const auto edits = source::change_edits(*tree, std::vector{change}, figures->profile().environment.device);
    if (!edits) {
      continue;
    }
    protocol::TextDocumentEdit written = written_in(snapshot, *edits);
    const bool on_call = figures->path_of(padding.location) == snapshot.document.path() &&
                         touch(lines_of(snapshot.line_range(padding.location.line - 1)), range);
    if (on_call || touches(written, range)) {
      actions.push_back(rewriting(fmt::format("{} wide instead of {}: {:.2f}× of the time of its products, predicted",
                                              padding.padded, padding.size, 1 - padding.saved_ms / padding.ms),
                                  std::move(written)));
    }
  }
}

}  // namespace ridgeline::editor
