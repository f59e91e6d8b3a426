#include "source/edit_places.h"

#include <algorithm>

namespace ridgeline::source {

std::vector<Node> nodes_in(Node root, base::FunctionRef<bool(Node)> matches) {
  std::vector<Node> found;
  Cursor cursor(root);
  std::size_t depth = 0;
  for (;;) {
    if (matches(cursor.node())) {
      found.push_back(cursor.node());
    }
    if (cursor.to_first_child()) {
      ++depth;
      continue;
    }
    while (depth > 0 && !cursor.to_next_sibling()) {
      cursor.to_parent();
      --depth;
    }
    if (depth == 0) {
      return found;
    }
  }
}

bool is_call(Node node) { return node.is("call"); }

bool is_trivia(Node node) { return node.is("comment") || node.is("line_continuation"); }

std::string_view indentation_at(const SourceTree::Content& content, std::size_t offset) {
  const std::string_view line = content.lines.line_in(content.text, content.lines.line_of(offset));
  return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
}

std::string_view line_end_of(const SourceTree::Content& content) {
  const std::size_t feed = content.text.find('\n');
  return feed != std::string::npos && feed > 0 && content.text[feed - 1] == '\r' ? "\r\n" : "\n";
}

bool begins_line(const SourceTree::Content& content, std::size_t offset) {
  const std::size_t start = content.lines.start_of(content.lines.line_of(offset));
  return start + indentation_at(content, offset).size() == offset;
}

bool has_lines_of_its_own(const SourceTree::Content& content, Span span) {
  const std::size_t line = content.lines.line_of(span.end);
  const std::size_t line_end = content.lines.start_of(line) + content.lines.line_in(content.text, line).size();
  return begins_line(content, span.begin) &&
         slice(content.text, {span.end, line_end}).find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string_view callee_name(const SourceTree::Content& content, Node call) {
  const std::string_view callee = content.text_of(call.field("function"));
  return callee.substr(callee.rfind('.') + 1);
}

std::vector<Node> arguments_of(Node list) {
  std::vector<Node> arguments = list.children();
  std::erase_if(arguments, [](Node part) { return part.is("(") || part.is(")") || part.is(",") || is_trivia(part); });
  return arguments;
}

base::Result<std::vector<Node>> written_arguments(const SourceTree::Content& content, Node call) {
  const Node list = call.field("arguments");
  const std::string name(callee_name(content, call));
  std::vector<Node> arguments = list.is("argument_list") ? arguments_of(list) : std::vector<Node>();
  if (arguments.empty() || list.has_error()) {
    return base::error("The arguments of " + name + " cannot be edited.");
  }
  if (std::ranges::any_of(arguments, [](Node each) { return each.is("dictionary_splat") || each.is("list_splat"); })) {
    return base::error(name + " gets arguments that are not written in its call.");
  }
  return arguments;
}

Node keyword_argument(const SourceTree::Content& content, const std::vector<Node>& arguments, std::string_view name) {
  const auto found = std::ranges::find_if(
      arguments, [&](Node each) { return each.is("keyword_argument") && content.text_of(each.field("name")) == name; });
  return found == arguments.end() ? Node() : *found;
}

TextEdit argument_added(const SourceTree::Content& content, Node call, const std::string& argument) {
  const Node list = call.field("arguments");
  const std::vector<Node> arguments = arguments_of(list);
  if (arguments.empty()) {
    const std::size_t inside = list.span().begin + 1;
    return {{inside, inside}, argument};
  }
  const Node last = arguments.back();
  const std::size_t end = last.span().end;
  Node comma;
  for (const Node part : list.children()) {
    if (part.is(",") && part.span().begin >= end) {
      comma = part;
    }
  }
  if (!comma.exists()) {
    return {{end, end}, ", " + argument};
  }
  const std::size_t behind = comma.span().end;
  if (!begins_line(content, last.span().begin)) {
    return {{behind, behind}, " " + argument};
  }
  return {{behind, behind},
          std::string(line_end_of(content)) + std::string(indentation_at(content, last.span().begin)) + argument + ","};
}

bool imports_torch(const SourceTree::Content& content) {
  for (const Node statement : content.root().children()) {
    if (statement.is("import_statement") &&
        std::ranges::any_of(statement.children(), [&](Node name) { return content.text_of(name) == "torch"; })) {
      return true;
    }
  }
  return false;
}

}  // namespace ridgeline::source
