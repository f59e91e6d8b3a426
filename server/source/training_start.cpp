#include "source/training_start.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "source/syntax.h"
#include "source/training_script.h"

namespace ridgeline::source {

namespace {

constexpr auto kLibraries =
    std::to_array<std::string_view>({"torch", "lightning", "pytorch_lightning", "transformers", "accelerate"});
/// What trains, or computes without gradients.
constexpr auto kStepCalls = std::to_array<std::string_view>(
    {".backward(", ".step(", ".fit(", "trainer.train(", "no_grad(", "inference_mode(", ".generate("});

/// The first name after `from`, or one of those after `import`.
bool imports_a_library(const SourceTree::Content& content, Node statement) {
  const auto is_library = [&](Node name) {
    if (name.is("aliased_import")) {
      name = name.field("name");
    }
    const std::string_view text = name.exists() ? content.text_of(name) : std::string_view();
    return std::ranges::find(kLibraries, text.substr(0, text.find('.'))) != kLibraries.end();
  };
  return statement.is("import_from_statement") ? is_library(statement.field("module_name"))
                                               : std::ranges::any_of(statement.children(), is_library);
}

bool runs_something(Node statement) {
  if (statement.is("expression_statement")) {
    const std::vector<Node> children = statement.children();
    return !children.empty() && children.front().is("call");
  }
  return statement.is("for_statement") || statement.is("while_statement") || statement.is("with_statement");
}

}  // namespace

std::optional<Span> find_training_start(const SourceTree& tree) {
  const SourceTree::Content& content = tree.content();
  bool has_library = false;
  std::optional<Span> first;
  std::optional<Span> guard;
  for (const Node statement : content.root().children()) {
    if (statement.is("import_statement") || statement.is("import_from_statement")) {
      has_library = has_library || imports_a_library(content, statement);
    } else if (is_main_guard(content, statement)) {
      guard = statement.span();
    } else if (!first.has_value() && runs_something(statement)) {
      first = statement.span();
    }
  }
  const auto occurs = [&](std::string_view call) { return content.text.find(call) != std::string::npos; };
  if (!has_library) {
    return std::nullopt;
  }
  return guard.has_value() || std::ranges::none_of(kStepCalls, occurs) ? guard : first;
}

bool has_main_guard(const SourceTree& tree) {
  return std::ranges::any_of(tree.content().root().children(),
                             [&](Node statement) { return is_main_guard(tree.content(), statement); });
}

}  // namespace ridgeline::source
