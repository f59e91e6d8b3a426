#include "source/definitions.h"

#include <algorithm>
#include <utility>

#include "base/line_index.h"
#include "base/utf8.h"
#include "source/syntax.h"

namespace ridgeline::source {

namespace {

/// A definition around the node that is looked at.
struct Outer {
  std::string qualified_name;
  DefinitionKind kind{};
};

bool is_definition(Node node) { return node.is("function_definition") || node.is("class_definition"); }

std::string qualified(const std::vector<Outer>& around, std::string_view name) {
  std::string qualified = around.empty() ? std::string() : around.back().qualified_name + ".";
  qualified += name;
  if (qualified.size() > kMaxNameBytes) {
    std::size_t from = qualified.size() - kMaxNameBytes;
    while (from < qualified.size() && base::is_continuation(qualified[from])) {
      ++from;
    }
    qualified.erase(0, from);
  }
  return qualified;
}

/// `whole`: the definition with its decorators.
Definition definition_of(const SourceTree& tree, const std::vector<Outer>& around, Node whole, Node inner) {
  const bool in_class = !around.empty() && around.back().kind == DefinitionKind::kClass;
  const base::LineIndex& lines = tree.lines();
  const Node name = inner.field("name");
  Definition definition;
  definition.kind = inner.is("class_definition") ? DefinitionKind::kClass
                    : in_class                   ? DefinitionKind::kMethod
                                                 : DefinitionKind::kFunction;
  definition.span = whole.span();
  definition.name_span = name.exists() ? name.span() : Span{inner.span().begin, inner.span().begin};
  definition.qualified_name = qualified(around, slice(tree.text(), definition.name_span));
  definition.first_line = lines.line_of(definition.span.begin);
  definition.name_line = lines.line_of(definition.name_span.begin);
  definition.last_line = lines.line_of(std::max(definition.span.begin + 1, definition.span.end) - 1);
  return definition;
}

}  // namespace

std::vector<Definition> definitions(const SourceTree& tree) {
  std::vector<Definition> found;
  std::vector<Outer> around;
  std::vector<bool> counted;  // of the nodes from the root to here: whether it is the innermost of `around`
  Cursor cursor(tree.content().root());
  Node decorated;
  bool more = cursor.to_first_child();
  while (more) {
    const Node node = cursor.node();
    const bool definition = is_definition(node);
    bool descend = holds_statements(node);
    if (node.is("decorated_definition")) {
      decorated = node;
      descend = true;
    } else if (definition && around.size() < kMaxDefinitionDepth) {
      const bool has_decorators = decorated.exists() && decorated.span().end == node.span().end;
      found.push_back(definition_of(tree, around, has_decorators ? decorated : node, node));
      decorated = Node();
      descend = true;
    }
    if (found.size() >= kMaxDefinitions) {
      return found;
    }
    if (descend && cursor.to_first_child()) {
      counted.push_back(definition);
      if (definition) {
        around.push_back({found.back().qualified_name, found.back().kind});
      }
      continue;
    }
    while (!(more = cursor.to_next_sibling()) && !counted.empty()) {
      cursor.to_parent();
      if (counted.back()) {
        around.pop_back();
      }
      counted.pop_back();
    }
  }
  return found;
}

std::optional<Definition> definition_at(const SourceTree& tree, std::size_t line) {
  const SourceTree::Content& content = tree.content();
  if (line >= content.lines.count()) {
    return std::nullopt;
  }
  const std::string_view line_text = content.lines.line_in(content.text, line);
  const std::size_t indent = line_text.find_first_not_of(" \t\f");
  const std::size_t offset = content.lines.start_of(line) + (indent == std::string_view::npos ? 0 : indent);
  std::optional<Definition> innermost;
  std::vector<Outer> around;
  Cursor cursor(content.root());
  bool has_decorators = false;
  while (cursor.to_child_after(offset) && cursor.node().span().begin <= offset) {
    const Node node = cursor.node();
    const Node inner = node.is("decorated_definition") ? node.field("definition") : node;
    if (is_definition(inner) && around.size() < kMaxDefinitionDepth && !has_decorators) {
      innermost = definition_of(tree, around, node, inner);
      around.push_back({innermost->qualified_name, innermost->kind});
    }
    has_decorators = node.is("decorated_definition");
  }
  return innermost;
}

}  // namespace ridgeline::source
