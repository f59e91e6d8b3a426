#include "source/syntax.h"

#include <algorithm>
#include <array>

namespace ridgeline::source {

Node Node::field(std::string_view name) const {
  if (!exists()) {
    return {};
  }
  return Node(ts_node_child_by_field_name(node_, name.data(), static_cast<std::uint32_t>(name.size())));
}

std::vector<Node> Node::children() const {
  std::vector<Node> found;
  Cursor cursor(*this);
  for (bool more = cursor.to_first_child(); more; more = cursor.to_next_sibling()) {
    found.push_back(cursor.node());
  }
  return found;
}

bool Cursor::to_child_after(std::size_t offset) {
  bool found = ts_tree_cursor_goto_first_child_for_byte(&cursor_, static_cast<std::uint32_t>(offset)) >= 0;
  // It stops at nodes without a byte and, in some releases, at one that ends right there, too.
  while (found && node().span().end <= offset) {
    if (!to_next_sibling()) {
      to_parent();
      found = false;
    }
  }
  return found;
}

Node without_parentheses(Node node) {
  while (node.is("parenthesized_expression")) {
    const std::vector<Node> parts = node.children();
    const auto inside =
        std::ranges::find_if(parts, [](Node part) { return !part.is("(") && !part.is(")") && !part.is("comment"); });
    if (inside == parts.end()) {
      break;
    }
    node = *inside;
  }
  return node;
}

bool holds_statements(Node node) {
  constexpr auto kTypes =
      std::to_array<std::string_view>({"module", "block", "if_statement", "elif_clause", "else_clause", "for_statement",
                                       "while_statement", "try_statement", "except_clause", "except_group_clause",
                                       "finally_clause", "with_statement", "match_statement", "case_clause", "ERROR"});
  return std::ranges::find(kTypes, node.type()) != kTypes.end();
}

}  // namespace ridgeline::source
