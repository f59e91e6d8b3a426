#include "source/autocast_edits.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace ridgeline::source {

namespace {

class Autocast {
 public:
  Autocast(const SourceTree::Content& content, std::string_view model, std::string_view device)
      : content_(content), model_(model), device_(device) {}

  /// `block`: of statements, one of which calls the model.
  Edits around(Node block) {
    const std::vector<Node> statements = block.children();
    const auto first = std::ranges::find_if(statements, [&](Node each) { return has(each, false); });
    if (first == statements.end()) {
      return base::error("The iteration function does not call `" + std::string(model_) + "` itself.");
    }
    if (has(*first, true)) {
      return inside(*first);
    }
    const auto backward = std::find_if(first, statements.end(), [&](Node each) { return has(each, true); });
    if (backward == statements.end()) {
      return base::error("Where forward ends is not to be seen: `backward()` is not called beside it.");
    }
    if (std::any_of(std::next(backward), statements.end(),
                    [&](Node each) { return has(each, true) || has(each, false); })) {
      return base::error("The step goes on with forward or `backward()` behind the first `backward()`.");
    }
    const auto begin = std::find_if(statements.begin(), first, [&](Node each) { return computes(each); });
    return wrapped(begin->span().begin, std::prev(backward)->span().end, backward->span().begin);
  }

 private:
  /// Whether a statement calls the model, or `.backward()`.
  bool has(Node statement, bool backward) const {
    return !nodes_in(statement, [&](Node node) {
              const std::string_view callee = is_call(node) ? content_.text_of(node.field("function")) : "";
              return backward ? callee.ends_with(".backward") : !callee.empty() && callee == model_;
            }).empty();
  }

  /// Whether autocast may concern a statement before forward, as it did when the change was tried: all but comments and
  /// calls such as `optimizer.zero_grad()`.
  bool computes(Node statement) const {
    if (is_trivia(statement) || statement.is("global_statement") || statement.is("nonlocal_statement")) {
      return false;
    }
    const std::vector<Node> calls = nodes_in(statement, is_call);
    const bool only_prepares = !calls.empty() && std::ranges::all_of(calls, [&](Node call) {
      return is_any_of(callee_name(content_, call), {"zero_grad", "train", "eval"});
    });
    const std::vector<Node> parts = statement.children();
    const bool is_docstring = parts.size() == 1 && parts.front().is("string");
    return !(statement.is("expression_statement") && (only_prepares || is_docstring));
  }

  /// A statement that calls both: a loop or a branch may have them in one block.
  Edits inside(Node statement) {
    if (content_.text_of(statement).find("autocast") != std::string_view::npos) {
      return base::error("The code uses autocast already.");
    }
    const Node body = statement.is("for_statement") || statement.is("with_statement") || statement.is("while_statement")
                          ? statement.field("body")
                          : Node();
    return body.exists() && has(body, false) && has(body, true)
               ? around(body)
               : Edits(base::error("Forward and backward are one statement."));
  }

  Edits wrapped(std::size_t begin, std::size_t end, std::size_t next) const {
    if (slice(content_.text, {begin, end}).find("autocast") != std::string_view::npos) {
      return base::error("The code uses autocast already.");
    }
    if (!begins_line(content_, begin) || content_.lines.line_of(end) == content_.lines.line_of(next)) {
      return base::error("Forward shares a line with other statements.");
    }
    const std::string indent(indentation_at(content_, begin));
    const std::string step = indent.find('\t') != std::string::npos ? "\t" : "    ";
    std::vector<TextEdit> edits = {{{begin, begin},
                                    "with torch.autocast(\"" + std::string(device_) + "\", dtype=torch.bfloat16):" +
                                        std::string(line_end_of(content_)) + indent + step}};
    const std::size_t last = content_.lines.line_of(end);
    for (std::size_t line = content_.lines.line_of(begin) + 1; line <= last; ++line) {
      const std::size_t start = content_.lines.start_of(line);
      const std::string_view text = content_.lines.line_in(content_.text, line);
      if (in_string(start)) {
        return base::error("Forward has a string of several lines.");
      }
      if (text.find_first_not_of(" \t\r\f") != std::string_view::npos) {
        edits.push_back({{start, start}, step});
      }
    }
    return edits;
  }

  /// Whether a string goes on at the beginning of a line.
  bool in_string(std::size_t offset) const {
    Cursor cursor(content_.root());
    while (cursor.to_child_after(offset) && cursor.node().span().begin < offset) {
      if (cursor.node().is("string")) {
        return true;
      }
    }
    return false;
  }

  const SourceTree::Content& content_;
  std::string_view model_;
  std::string_view device_;
};

}  // namespace

Edits autocast_around(const SourceTree::Content& content, Node block, std::string_view model, std::string_view device) {
  return Autocast(content, model, device).around(block);
}

}  // namespace ridgeline::source
