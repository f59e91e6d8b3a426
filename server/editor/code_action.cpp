#include "editor/code_action.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analysis/prediction/predictor.h"
#include "editor/batch_size_method.h"
#include "editor/mistakes.h"
#include "report/labels.h"

namespace ridgeline::editor {

namespace {

using protocol::CodeAction;
using protocol::Range;

constexpr const char* kProfileKind = "source.ridgeline.profile";

bool wanted(const std::vector<std::string>& only, const std::string& kind) {
  return only.empty() || std::ranges::any_of(only, [&](const std::string& asked) {
           return kind == asked || kind.starts_with(asked + ".");
         });
}

void add_batch_sizes(const Snapshot& snapshot, std::vector<CodeAction>& actions) {
  const auto now = batch_size_in_code(*snapshot.source, snapshot.own.get());
  if (!now.has_value() || snapshot.own == nullptr || snapshot.own->figures == nullptr) {
    return;
  }
  const Figures& figures = *snapshot.own->figures;
  const analysis::BatchPrediction here = analysis::predict_batch(figures.predictor(), *now);
  for (const BatchSizeChoice& choice : batch_size_choices(figures, *now)) {
    auto edit = batch_size_edit(snapshot, choice.batch.batch_size);
    if (!edit) {
      continue;
    }
    CodeAction action;
    action.title = report::batch_size_title(choice.batch, here, figures.profile().capacity_bytes) + " — " + choice.why;
    action.kind = "refactor.rewrite";
    action.edit = std::move(*edit);
    action.is_preferred = choice.recommended && snapshot.client.code_action.is_preferred;
    actions.push_back(std::move(action));
  }
}

/// For editors without code lenses.
CodeAction profile_action(const Snapshot& snapshot) {
  CodeAction action;
  action.title = "Profile this training step";
  action.kind = kProfileKind;
  action.command =
      protocol::Command{action.title, "ridgeline.profile", protocol::Json::array({snapshot.document.uri()})};
  return action;
}

/// Where batch sizes are offered: the signature of input_provider, or the number of a training script.
std::optional<source::Span> span_of_batch_size(const Snapshot& snapshot) {
  const auto size = written_batch_size(*snapshot.source, snapshot.own.get());
  const auto& entry_point = snapshot.source->entry_point;
  if (!entry_point.has_value()) {
    return size.has_value() && size->can_be_edited() ? std::optional(size->literal) : std::nullopt;
  }
  const auto& input = entry_point->provider(source::ProviderKind::kInput);
  return input.has_value()
             ? std::optional(source::Span{input->name_span.begin, std::max(input->name_span.end, size->literal.end)})
             : std::nullopt;
}

/// Its lines, whole.
Range lines_of(const Snapshot& snapshot, source::Span span) {
  const Range range = snapshot.range(span);
  return {{range.start.line, 0}, {range.end.line + 1, 0}};
}

bool is_on_provider(const Snapshot& snapshot, const source::EntryPoint& entry_point, const Range& range) {
  return std::ranges::any_of(entry_point.providers, [&](const auto& provider) {
    return provider.has_value() && touch(snapshot.line_range(snapshot.range(provider->name_span).start.line), range);
  });
}

}  // namespace

std::vector<CodeAction> code_actions(const Snapshot& snapshot, const CodeActionParams& params,
                                     std::span<const WrittenChange> changes) {
  const Range& range = params.range;
  const protocol::CodeActionContext& context = params.context;
  std::vector<CodeAction> actions;
  if (snapshot.client.code_action.literals && wanted(context.only, "refactor.rewrite")) {
    add_paddings(snapshot, range, actions);
  }
  const auto& entry_point = snapshot.source->entry_point;
  if (!snapshot.client.code_action.literals) {
    return actions;
  }
  if (entry_point.has_value() && wanted(context.only, "quickfix")) {
    add_fixes(snapshot, range, actions);
  }
  if (entry_point.has_value() && wanted(context.only, kProfileKind) && is_on_provider(snapshot, *entry_point, range)) {
    actions.push_back(profile_action(snapshot));
  }
  if (wanted(context.only, "refactor.rewrite")) {
    add_changes(snapshot, range, changes, actions);
    if (const auto span = span_of_batch_size(snapshot); span.has_value() && touch(lines_of(snapshot, *span), range)) {
      add_batch_sizes(snapshot, actions);
    }
  }
  return actions;
}

}  // namespace ridgeline::editor
