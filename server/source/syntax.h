// Syntax trees within this layer; the only header that includes tree-sitter.
#pragma once

#include <tree_sitter/api.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/line_index.h"
#include "source/source_tree.h"
#include "source/span_text.h"

namespace ridgeline::source {

/// A node of the syntax tree, or none. Valid until the tree is edited.
class Node {
 public:
  Node() = default;
  explicit Node(TSNode node) : node_(node) {}

  bool exists() const { return !ts_node_is_null(node_); }
  /// The name that the grammar gives it: "function_definition", "(", "ERROR"; empty for none.
  std::string_view type() const { return exists() ? std::string_view(ts_node_type(node_)) : std::string_view(); }
  bool is(std::string_view type) const { return this->type() == type; }
  /// Whether the parser inserted it to recover from an error.
  bool is_missing() const { return exists() && ts_node_is_missing(node_); }
  /// Whether it contains a syntax error.
  bool has_error() const { return exists() && ts_node_has_error(node_); }
  /// The bytes of the node, which must exist.
  Span span() const { return {ts_node_start_byte(node_), ts_node_end_byte(node_)}; }
  Node field(std::string_view name) const;
  std::vector<Node> children() const;
  TSNode raw() const { return node_; }

 private:
  TSNode node_{};
};

/// Walks a tree without recursion: trees are as deep as brackets can be nested.
class Cursor {
 public:
  explicit Cursor(Node node) : cursor_(ts_tree_cursor_new(node.raw())) {}
  ~Cursor() { ts_tree_cursor_delete(&cursor_); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  Node node() const { return Node(ts_tree_cursor_current_node(&cursor_)); }
  /// What the node is to its parent: "left", "body"; empty when the grammar gives it no name.
  std::string_view field_name() const {
    const char* name = ts_tree_cursor_current_field_name(&cursor_);
    return name != nullptr ? std::string_view(name) : std::string_view();
  }
  bool to_first_child() { return ts_tree_cursor_goto_first_child(&cursor_); }
  /// To the first child that ends after `offset`. False, and where it was, when there is none.
  bool to_child_after(std::size_t offset);
  bool to_next_sibling() { return ts_tree_cursor_goto_next_sibling(&cursor_); }
  bool to_parent() { return ts_tree_cursor_goto_parent(&cursor_); }

 private:
  TSTreeCursor cursor_;
};

struct ParserDeleter {
  void operator()(TSParser* parser) const { ts_parser_delete(parser); }
};
struct TreeDeleter {
  void operator()(TSTree* tree) const { ts_tree_delete(tree); }
};

struct SourceTree::Content {
  std::string text;
  base::LineIndex lines;
  ParseControl control;
  std::unique_ptr<TSParser, ParserDeleter> parser{};
  std::unique_ptr<TSTree, TreeDeleter> tree{};  ///< null: nothing can be reused
  ParseState state = ParseState::kUnfinished;
  // State of the parse in progress:
  std::optional<std::string> normalized_text{};  ///< what is parsed, where it is not `text`
  std::chrono::nanoseconds spent{};
  std::size_t read_bytes = 0;

  Node root() const { return Node(ts_tree_root_node(tree.get())); }
  /// Whether there may be statements that the tree does not contain.
  bool has_error() const { return state == ParseState::kAborted || root().has_error(); }
  std::string_view text_of(Node node) const { return slice(text, node.span()); }
};

/// `node` without the parentheses around it, however many.
Node without_parentheses(Node node);

/// Whether a statement contains statements that run with it: a branch, a loop, a `with`; also an error.
bool holds_statements(Node node);

}  // namespace ridgeline::source
