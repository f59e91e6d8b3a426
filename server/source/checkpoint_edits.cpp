#include "source/checkpoint_edits.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace ridgeline::source {

namespace {

constexpr std::size_t kMostArgument = 4096;  ///< bytes

/// What goes into the list of names in Python: `"head"`, or for `h.0..3` `*(f"h.{i}" for i in range(0, 4))`; nothing
/// where it is no name.
std::optional<std::string> listed(std::string_view name) {
  const std::size_t dots = name.find("..");
  const std::string_view path = name.substr(0, dots);
  const auto is_of_path = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '_' || letter == '.';
  };
  if (path.empty() || !std::ranges::all_of(path, is_of_path)) {
    return std::nullopt;
  }
  if (dots == std::string_view::npos) {
    return fmt::format("\"{}\"", path);
  }
  const std::size_t begin = path.find_last_not_of("0123456789") + 1;  // npos + 1: all are digits
  const std::string_view first = path.substr(begin);
  const std::string_view last = name.substr(dots + 2);
  std::uint32_t end = 0;
  const auto [behind, problem] = std::from_chars(last.data(), last.data() + last.size(), end);
  if (first.empty() || problem != std::errc() || behind != last.data() + last.size() || last.size() > 6) {
    return std::nullopt;
  }
  return fmt::format("*(f\"{}{{i}}\" for i in range({}, {}))", path.substr(0, begin), first, end + 1);
}

/// `["head", *(f"h.{i}" for i in range(0, 4))]`.
std::optional<std::string> list_of(std::string_view argument) {
  std::string list;
  for (std::size_t begin = 0; begin <= argument.size();) {
    const std::size_t end = std::min(argument.find(',', begin), argument.size());
    const auto part = listed(argument.substr(begin, end - begin));
    if (!part.has_value()) {
      return std::nullopt;
    }
    list += (list.empty() ? "" : ", ") + *part;
    begin = end + 1;
  }
  return "[" + list + "]";
}

/// Behind the last import at the top of the file; nothing: it has none.
std::optional<std::size_t> behind_imports(const SourceTree::Content& content) {
  std::optional<std::size_t> place;
  for (const Node statement : content.root().children()) {
    if (statement.is("import_statement") || statement.is("import_from_statement")) {
      place = content.text.find('\n', statement.span().end);
    }
  }
  return place.has_value() && *place != std::string_view::npos ? std::optional(*place + 1) : std::nullopt;
}

bool uses_name(const SourceTree::Content& content, Node where, std::string_view name) {
  return !nodes_in(where, [&](Node node) { return node.is("identifier") && content.text_of(node) == name; }).empty();
}

}  // namespace

Edits checkpoint_edits(const SourceTree::Content& content, Node provider, Node statement, Node model,
                       std::string_view argument) {
  const auto names = argument.size() <= kMostArgument ? list_of(argument) : std::nullopt;
  if (!names.has_value()) {
    return base::error("Which modules to checkpoint is not said by their names.");
  }
  for (const std::string_view name : {"checkpoint", "partial"}) {
    if (uses_name(content, content.root(), name)) {
      return base::error(fmt::format("The file uses the name `{}` already.", name));
    }
  }
  const bool is_named = model.is("identifier");
  const std::string name(is_named ? content.text_of(model) : "model");
  for (const std::string_view own : {"path", "block", is_named ? "block" : "model"}) {
    if (uses_name(content, provider, own)) {
      return base::error(fmt::format("The model provider uses the name `{}` already.", own));
    }
  }
  const auto imports = behind_imports(content);
  if (!imports.has_value() || *imports > statement.span().begin || !has_lines_of_its_own(content, statement.span())) {
    return base::error("The model provider has no place for it.");
  }
  const std::string end(line_end_of(content));
  const std::string line = end + std::string(indentation_at(content, statement.span().begin));
  std::string text = is_named ? "" : fmt::format("model = {}{}", content.text_of(model), line);
  text += fmt::format("for path in {}:{}    block = {}.get_submodule(path)", *names, line, name);
  text += line + "    block.forward = partial(checkpoint, block.forward, use_reentrant=False)" + line;
  text += "return " + name;
  return std::vector<TextEdit>{
      {{*imports, *imports},
       "from functools import partial" + end + "from torch.utils.checkpoint import checkpoint" + end},
      {statement.span(), text}};
}

}  // namespace ridgeline::source
