#include "source/python_text.h"

#include <algorithm>
#include <array>

#include "source/training_script.h"

namespace ridgeline::source {

namespace {

std::size_t column_of(std::string_view text, std::size_t offset) {
  const std::size_t newline = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  return offset - (newline == std::string_view::npos ? 0 : newline + 1);
}

}  // namespace

std::string reindented_statement(const SourceTree::Content& content, Node statement, std::string_view indent,
                                 bool leave_loop) {
  const std::string_view text = content.text;
  const Span whole = statement.span();
  const std::size_t column = column_of(text, whole.begin);
  std::vector<TextEdit> edits;
  std::vector<Span> strings;
  for_each_node(statement, [&](Node node, const std::vector<Node>& ancestors) {
    if (node.is("string") && (strings.empty() || node.span().begin >= strings.back().end)) {
      strings.push_back(node.span());
    }
    if (leave_loop && (node.is("continue_statement") || node.is("break_statement")) &&
        std::ranges::none_of(ancestors, [](Node around) {
          return around.is("for_statement") || around.is("while_statement") || around.is("function_definition");
        })) {
      edits.push_back({node.span(), "return"});
    }
  });
  std::size_t string = 0;
  for (std::size_t line = text.find('\n', whole.begin); line < whole.end; line = text.find('\n', line + 1)) {
    while (string < strings.size() && strings[string].end <= line) {
      ++string;
    }
    if (string < strings.size() && strings[string].begin < line) {
      continue;
    }
    std::size_t end = line + 1;
    while (end < whole.end && end <= line + column && (text[end] == ' ' || text[end] == '\t')) {
      ++end;
    }
    const bool blank = end >= whole.end || text[end] == '\n';
    edits.push_back({{line + 1, end}, blank ? std::string() : std::string(indent)});
  }
  std::ranges::sort(edits, {}, [](const TextEdit& edit) { return edit.span.begin; });
  std::string moved(indent);
  std::size_t at = whole.begin;
  for (const TextEdit& edit : edits) {
    moved += slice(text, {at, edit.span.begin});
    moved += edit.replacement;
    at = edit.span.end;
  }
  moved += slice(text, {at, whole.end});
  while (moved.ends_with('\n') || moved.ends_with(' ')) {
    moved.pop_back();
  }
  return moved + "\n";
}

std::string import_of_names(const SourceTree::Content& content, Node statement,
                            const std::vector<std::string_view>& names) {
  const bool from = statement.is("import_from_statement");
  const Node module = from ? statement.field("module_name") : Node();
  std::string text = from && module.exists() ? "from " + std::string(content.text_of(module)) + " import " : "import ";
  bool first = true;
  for (const Node part : statement.children()) {
    if (module.exists() && part.span().begin < module.span().end) {
      continue;
    }
    const Node name = part.is("aliased_import") ? part.field("alias") : part.is("dotted_name") ? part : Node();
    const std::string_view written = name.exists() ? content.text_of(name) : std::string_view();
    if (std::ranges::find(names, written.substr(0, written.find('.'))) != names.end() && !written.empty()) {
      text += (first ? "" : ", ") + std::string(content.text_of(part));
      first = false;
    }
  }
  return text + "\n";
}

std::string comma_separated(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

bool is_python_name(std::string_view name) {
  constexpr auto kKeywords = std::to_array<std::string_view>(
      {"False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
       "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
       "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
       "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"});
  const auto fits = [](char byte) {
    return byte == '_' || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
  };
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') && std::ranges::all_of(name, fits) &&
         std::ranges::find(kKeywords, name) == kKeywords.end();
}

}  // namespace ridgeline::source
