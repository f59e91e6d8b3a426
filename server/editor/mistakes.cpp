#include "editor/mistakes.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ridgeline::editor {

namespace {

using protocol::Diagnostic;
using source::Mistake;

Diagnostic diagnostic_of(const Snapshot& snapshot, const Mistake& mistake) {
  Diagnostic diagnostic;
  diagnostic.range = snapshot.range(mistake.span);
  diagnostic.severity = protocol::DiagnosticSeverity::kError;
  diagnostic.code = std::string(mistake.code);
  diagnostic.source = "ridgeline";
  diagnostic.message = mistake.message;
  if (mistake.code == "provider-duplicate" && mistake.related.has_value() &&
      snapshot.client.diagnostics.related_information) {
    diagnostic.related_information.push_back(
        {{snapshot.document.uri(), snapshot.range(*mistake.related)}, "The other definition is here."});
  }
  return diagnostic;
}

struct Fix {
  std::string title;
  source::TextEdit edit;
};

/// What to write for a provider that is missing: enough to run once the dots are filled in.
std::string skeleton(source::ProviderKind kind) {
  switch (kind) {
    case source::ProviderKind::kModel:
      return "def model_provider():\n    return Net()\n";
    case source::ProviderKind::kInput:
      return "def input_provider(batch_size=32):\n    return (torch.randn(batch_size, 3, 224, 224),)\n";
    case source::ProviderKind::kIteration:
      return "def iteration_provider(model):\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n\n"
             "    def iteration(*inputs):\n        optimizer.zero_grad()\n        model(*inputs).sum().backward()\n"
             "        optimizer.step()\n\n    return iteration\n";
  }
  return {};
}

std::optional<Fix> fix_of(const Snapshot& snapshot, const Mistake& mistake) {
  const std::string_view text = snapshot.document.bytes();
  const std::string name(source::name_of(mistake.kind));
  if (mistake.code == "provider-missing" && mistake.related.has_value()) {
    return Fix{"Rename to " + name, {*mistake.related, name}};
  }
  if (mistake.code == "provider-missing") {
    const std::string gap = text.empty() ? "" : text.ends_with("\n") ? "\n\n" : "\n\n\n";
    return Fix{"Add " + name, {{text.size(), text.size()}, gap + skeleton(mistake.kind)}};
  }
  const auto& provider = snapshot.source->entry_point->provider(mistake.kind);
  if (!provider.has_value()) {
    return std::nullopt;
  }
  if (mistake.code == "provider-invalid" && provider->defined) {
    const std::string_view before = text.substr(0, provider->name_span.begin);
    const std::size_t found = before.rfind("async");
    const std::size_t plain = found == std::string_view::npos ? found : before.find("def", found);
    if (plain != std::string_view::npos && found >= provider->definition.begin) {
      return Fix{"Make it a plain def", {{found, plain}, ""}};
    }
  }
  if (mistake.code == "batch-size-missing" && provider->defined) {
    const std::size_t open = text.find('(', provider->name_span.end);
    const std::size_t next = open == std::string_view::npos ? open : text.find_first_not_of(" \t\r\n", open + 1);
    // Only where there are no parameters: elsewhere it is not known which one was meant.
    if (next != std::string_view::npos && text[next] == ')' &&
        text.substr(provider->name_span.end, open - provider->name_span.end).find_first_not_of(" \t") ==
            std::string_view::npos) {
      return Fix{"Add batch_size=32", {{open + 1, next}, "batch_size=32"}};
    }
  }
  return std::nullopt;
}

}  // namespace

void add_mistakes(const Snapshot& snapshot, std::vector<Diagnostic>& diagnostics) {
  const auto& entry_point = snapshot.source->entry_point;
  if (!entry_point.has_value()) {
    return;
  }
  for (const Mistake& mistake : entry_point->mistakes) {
    diagnostics.push_back(diagnostic_of(snapshot, mistake));
  }
}

void add_fixes(const Snapshot& snapshot, const protocol::Range& range, std::vector<protocol::CodeAction>& actions) {
  for (const Mistake& mistake : snapshot.source->entry_point->mistakes) {
    const std::optional<Fix> fix =
        touch(snapshot.range(mistake.span), range) ? fix_of(snapshot, mistake) : std::nullopt;
    if (!fix.has_value()) {
      continue;
    }
    protocol::TextDocumentEdit edit{snapshot.document.uri(), snapshot.document.version(), {}};
    edit.edits.push_back({snapshot.range(fix->edit.span), fix->edit.replacement});
    protocol::CodeAction action;
    action.title = fix->title;
    action.kind = "quickfix";
    action.diagnostics.push_back(diagnostic_of(snapshot, mistake));
    action.edit = protocol::WorkspaceEdit{{std::move(edit)}};
    action.is_preferred = snapshot.client.code_action.is_preferred;
    actions.push_back(std::move(action));
  }
}

}  // namespace ridgeline::editor
