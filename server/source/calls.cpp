#include "source/calls.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "source/syntax.h"

namespace ridgeline::source {

namespace {

// Nodes of one line; lines of a data table may be long.
constexpr std::size_t kMaxNodes = 100'000;

/// On one line: what Python takes for space becomes one blank or, beside a dot or a bracket, nothing.
std::string on_one_line(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\\";
  constexpr std::string_view kTight = ".([{)]}";
  std::string line;
  for (std::size_t at = 0; at < text.size() && line.size() <= kMaxCalleeBytes; ++at) {
    if (kSpace.find(text[at]) == std::string_view::npos) {
      line += text[at];
      continue;
    }
    const std::size_t next = text.find_first_not_of(kSpace, at);
    const bool tight = next == std::string_view::npos || kTight.find(text[next]) != std::string_view::npos ||
                       line.empty() || kTight.find(line.back()) != std::string_view::npos;
    if (!tight) {
      line += ' ';
    }
    at = next == std::string_view::npos ? text.size() : next - 1;
  }
  if (line.size() > kMaxCalleeBytes) {
    line = std::string(base::cut_utf8(line, kMaxCalleeBytes)) + "…";
  }
  return line;
}

std::optional<Call> call_of(const SourceTree::Content& content, Node node) {
  const Node callee = node.is("call") ? node.field("function") : Node();
  if (!callee.exists()) {
    return std::nullopt;
  }
  return Call{on_one_line(content.text_of(callee)), callee.span(), node.span()};
}

}  // namespace

std::optional<Call> expression_at(const SourceTree& tree, std::size_t offset) {
  const SourceTree::Content& content = tree.content();
  Node innermost;
  Cursor cursor(content.root());
  while (offset < content.text.size() && cursor.to_child_after(offset) && cursor.node().span().begin <= offset) {
    if (cursor.node().is("call")) {
      innermost = cursor.node();
    }
  }
  return call_of(content, innermost);
}

std::vector<Call> calls_on_line(const SourceTree& tree, std::size_t line) {
  const SourceTree::Content& content = tree.content();
  std::vector<Call> found;
  if (line >= content.lines.count()) {
    return found;
  }
  const std::size_t begin = content.lines.start_of(line);
  const std::size_t end = begin + content.lines.line_in(content.text, line).size();
  const auto on_line = [&](Node node) { return node.span().begin < end && node.span().end > begin; };
  Cursor cursor(content.root());
  std::size_t depth = 0;
  std::size_t nodes = 0;
  bool more = cursor.to_child_after(begin);
  while (more && ++nodes < kMaxNodes && found.size() < kMaxCallsOnLine) {
    if (on_line(cursor.node())) {
      auto call = call_of(content, cursor.node());
      if (call.has_value() && call->callee_span.end > begin && call->callee_span.end <= end) {
        found.push_back(std::move(*call));
      }
      if (cursor.to_child_after(begin)) {
        ++depth;
        continue;
      }
    }
    while (!(more = cursor.node().span().end < end && cursor.to_next_sibling()) && depth > 0) {
      cursor.to_parent();
      --depth;
    }
  }
  std::ranges::sort(found, {}, [](const Call& call) { return call.callee_span.end; });
  return found;
}

}  // namespace ridgeline::source
