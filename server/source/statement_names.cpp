#include "source/statement_names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace ridgeline::source {

namespace {

/// What becomes of an identifier at its place.
enum class Use : std::uint8_t { kNone, kRead, kWrite, kReadAndWrite, kChange };

bool has_own_names(Node node) {
  return is_any_of(node.type(), {"function_definition", "lambda", "class_definition", "list_comprehension",
                                 "set_comprehension", "dictionary_comprehension", "generator_expression"});
}

/// Methods that leave alone what a training step needs of an object.
bool is_harmless(std::string_view method) {
  return is_any_of(method, {"load_state_dict", "eval", "zero_grad", "step", "set_epoch", "close", "start", "join",
                            "save", "save_pretrained", "push_to_hub", "info", "summary", "fit", "train_model", "wait"});
}

/// How a child of `parent`, itself used as `use`, is used.
Use use_of_child(Node parent, Use use, std::string_view field, Node child) {
  const std::string_view type = parent.type();
  if (type == "assignment" || type == "for_statement" || type == "for_in_clause") {
    return field == "left" ? Use::kWrite : Use::kRead;
  }
  if (type == "augmented_assignment") {
    return field == "left" ? Use::kReadAndWrite : Use::kRead;
  }
  if (is_any_of(type,
                {"pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern", "dictionary_splat_pattern"})) {
    return use;
  }
  if (is_any_of(type, {"as_pattern_target", "parameters", "lambda_parameters"})) {
    return Use::kWrite;
  }
  if (is_any_of(type, {"named_expression", "default_parameter", "typed_default_parameter"})) {
    return field == "name" ? Use::kWrite : Use::kRead;
  }
  if (type == "typed_parameter") {
    return field == "type" ? Use::kRead : Use::kWrite;
  }
  if (type == "attribute" || type == "subscript") {
    const bool object = field == "object" || field == "value";
    return field == "attribute" ? Use::kNone : object && use != Use::kRead ? Use::kChange : Use::kRead;
  }
  if (is_any_of(type, {"keyword_argument", "function_definition", "class_definition"}) && field == "name") {
    return Use::kNone;
  }
  return child.is("global_statement") || child.is("nonlocal_statement") ? Use::kNone : Use::kRead;
}

class Reader {
 public:
  explicit Reader(const SourceTree::Content& content) : content_(content) {}

  StatementNames read(Node top) {
    struct Around {
      Node node;
      Use use;
    };
    std::vector<Around> around;
    frames_.emplace_back();
    Cursor cursor(top);
    Use use = Use::kRead;
    bool more = true;
    while (more) {
      const Node node = cursor.node();
      if (!around.empty()) {
        use = use_of_child(around.back().node, around.back().use, cursor.field_name(), node);
      }
      if (enter(node, use) && cursor.to_first_child()) {
        around.push_back({node, use});
        continue;
      }
      leave(node);
      while (!(more = !around.empty() && cursor.to_next_sibling()) && !around.empty()) {
        cursor.to_parent();
        leave(around.back().node);
        around.pop_back();
      }
    }
    names_.reads = std::move(frames_.front().reads);
    names_.writes = std::move(frames_.front().writes);
    return std::move(names_);
  }

 private:
  struct Frame {
    NameSet reads;
    NameSet writes;
  };

  /// Whether its children are to be visited.
  bool enter(Node node, Use use) {
    if (node.is("identifier")) {
      identifier(content_.text_of(node), use);
    } else if (node.is("import_statement") || node.is("import_from_statement")) {
      imported(node);
      return false;
    } else if (node.is("call")) {
      called(node);
    } else if (node.is("expression_statement")) {
      method_called(node);
    }
    if (has_own_names(node)) {
      const Node name = node.field("name");
      if (name.exists()) {
        frames_.back().writes.insert(content_.text_of(name));
      }
      frames_.emplace_back();
    }
    return use != Use::kNone;
  }

  void leave(Node node) {
    if (!has_own_names(node) || frames_.size() < 2) {
      return;
    }
    Frame inner = std::move(frames_.back());
    frames_.pop_back();
    for (const std::string_view name : inner.writes) {
      inner.reads.erase(name);
    }
    NameSet& outer = frames_.back().reads;
    if (outer.size() < inner.reads.size()) {
      outer.swap(inner.reads);
    }
    outer.merge(inner.reads);
  }

  void identifier(std::string_view name, Use use) {
    Frame& frame = frames_.back();
    if (use == Use::kRead || use == Use::kReadAndWrite || use == Use::kChange) {
      frame.reads.insert(name);
    }
    if (use == Use::kWrite || use == Use::kReadAndWrite) {
      frame.writes.insert(name);
    }
    if (use == Use::kChange && frames_.size() == 1) {
      names_.changes.insert(name);
    }
  }

  void imported(Node statement) {
    const Node module = statement.is("import_from_statement") ? statement.field("module_name") : Node();
    for (const Node part : statement.children()) {
      if (module.exists() && part.span().begin < module.span().end) {
        continue;
      }
      const Node name = part.is("aliased_import") ? part.field("alias") : part.is("dotted_name") ? part : Node();
      if (name.exists()) {
        const std::string_view text = content_.text_of(name);
        frames_.back().writes.insert(text.substr(0, text.find('.')));
      }
    }
  }

  void called(Node call) {
    const std::string_view name = called_name(content_, call);
    if (!name.empty()) {
      const Node function = call.field("function");
      names_.calls.push_back({function.is("attribute") ? root_name(content_, function) : std::string_view(), name});
    }
  }

  void method_called(Node statement) {
    const std::vector<Node> parts = statement.children();
    if (frames_.size() > 1 || parts.empty() || !parts.front().is("call")) {
      return;
    }
    const Node function = parts.front().field("function");
    const std::string_view root = root_name(content_, function);
    if (function.is("attribute") && !root.empty() && !is_harmless(called_name(content_, parts.front()))) {
      names_.changes.insert(root);
    }
  }

  const SourceTree::Content& content_;
  StatementNames names_;
  std::vector<Frame> frames_;  ///< of the functions and the like around the node; the first is the statement's own
};

}  // namespace

StatementNames names_in(const SourceTree::Content& content, Node node) { return Reader(content).read(node); }

std::string_view root_name(const SourceTree::Content& content, Node expression) {
  constexpr int kMaxLinks = 64;
  for (int links = 0; links < kMaxLinks && expression.exists(); ++links) {
    if (expression.is("identifier")) {
      return content.text_of(expression);
    }
    expression = expression.is("attribute")   ? expression.field("object")
                 : expression.is("call")      ? expression.field("function")
                 : expression.is("subscript") ? expression.field("value")
                                              : Node();
  }
  return {};
}

std::string_view called_name(const SourceTree::Content& content, Node call) {
  const Node function = call.is("call") ? call.field("function") : Node();
  const Node name = function.is("attribute") ? function.field("attribute") : function;
  return name.is("identifier") ? content.text_of(name) : std::string_view();
}

}  // namespace ridgeline::source
