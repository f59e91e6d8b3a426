#include "methods/change_actions.h"

#include <algorithm>
#include <utility>

#include "report/what_if.h"

namespace ridgeline::methods {

namespace {

using protocol::CodeAction;
using protocol::Range;

std::string title_of(const analysis::ChangeAnswer& answer) {
  return answer.title + ": " + report::speed_up_text(known_speed_up(answer)) +
         (answer.tried.has_value() ? ", tried" : ", predicted");
}

Range lines_of(const Range& range) { return {{range.start.line, 0}, {range.end.line + 1, 0}}; }

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
         known_speed_up(answer).low > 1;
}

void add_changes(const Snapshot& snapshot, const Range& range, std::span<const WrittenChange> changes,
                 std::vector<CodeAction>& actions) {
  if (changes.empty() || !ran_as_it_is(snapshot)) {
    return;
  }
  const auto& step = snapshot.source->entry_point->provider(source::ProviderKind::kIteration);
  const bool on_step = step.has_value() && touch(snapshot.range(step->name_span), range);
  for (const WrittenChange& change : changes) {
    protocol::TextDocumentEdit written{snapshot.document.uri(), snapshot.document.version(), {}};
    for (const source::TextEdit& edit : change.edits) {
      written.edits.push_back({snapshot.range(edit.span), edit.replacement});
    }
    if (!on_step &&
        std::ranges::none_of(written.edits, [&](const auto& edit) { return touch(lines_of(edit.range), range); })) {
      continue;
    }
    CodeAction action;
    action.title = title_of(change.answer);
    action.kind = "refactor.rewrite";
    action.edit = protocol::WorkspaceEdit{{std::move(written)}};
    actions.push_back(std::move(action));
  }
}

}  // namespace ridgeline::methods
