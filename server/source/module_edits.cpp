#include "source/module_edits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
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

/// How a change is written.
struct Written {
  std::string_view change;
  std::vector<std::string_view> imports;  ///< "MODULE NAME"
  std::vector<std::string_view> names;    ///< that the lines assign in the provider
  std::vector<std::string_view> before;   ///< lines before the loop over the modules, as are:
  std::vector<std::string_view> forward;  ///< what `block.forward` becomes; those behind the first are inside brackets
};

/// What is kept by selective checkpointing is what the runner keeps: ridgeline_runner/changes/activations.py.
const std::array<Written, 3>& ways() {
  static const std::array<Written, 3> kWays = {
      {{.change = "checkpoint",
        .imports = {"functools partial", "torch.utils.checkpoint checkpoint"},
        .names = {},
        .before = {},
        .forward = {"partial(checkpoint, block.forward, use_reentrant=False)"}},
       {.change = "selective-checkpoint",
        .imports = {"functools partial", "torch.utils.checkpoint checkpoint",
                    "torch.utils.checkpoint create_selective_checkpoint_contexts"},
        .names = {"aten", "kept", "contexts"},
        .before = {"aten = torch.ops.aten", "kept = [", "    aten.mm.default,", "    aten.addmm.default,",
                   "    aten.bmm.default,", "    aten.baddbmm.default,", "    aten.convolution.default,",
                   "    aten.mkldnn_rnn_layer.default,", "    aten._scaled_dot_product_flash_attention.default,",
                   "    aten._scaled_dot_product_efficient_attention.default,",
                   "    aten._scaled_dot_product_cudnn_attention.default,",
                   "    aten._scaled_dot_product_flash_attention_for_cpu.default,", "]",
                   "contexts = partial(create_selective_checkpoint_contexts, kept)"},
        .forward = {"partial(", "    checkpoint, block.forward, use_reentrant=False, context_fn=contexts", ")"}},
       {.change = "offload",
        .imports = {"torch.autograd.graph save_on_cpu"},
        .names = {"offloaded"},
        .before = {"", "def offloaded(forward):", "    def run(*inputs, **options):",
                   "        with save_on_cpu(pin_memory=True):", "            return forward(*inputs, **options)", "",
                   "    return run", ""},
        .forward = {"offloaded(block.forward)"}}}};
  return kWays;
}

const Written* written(std::string_view change) {
  const auto* const found = std::ranges::find(ways(), change, &Written::change);
  return found == ways().end() ? nullptr : &*found;
}

/// The lines that import `imports`, "MODULE NAME", by module.
std::string import_lines(const std::set<std::string_view>& imports, const std::string& end) {
  std::map<std::string_view, std::string> names;  // by module
  for (const std::string_view import : imports) {
    const std::size_t blank = import.find(' ');
    std::string& of_module = names[import.substr(0, blank)];
    of_module += (of_module.empty() ? "" : ", ") + std::string(import.substr(blank + 1));
  }
  std::string lines;
  for (const auto& [module, imported] : names) {
    lines += fmt::format("from {} import {}{}", module, imported, end);
  }
  return lines;
}

/// Each on a line of its own, indented; an empty one is an empty line.
std::string in_lines(const std::vector<std::string_view>& texts, const std::string& end, const std::string& indent) {
  std::string all;
  for (const std::string_view text : texts) {
    all += text.empty() ? end : indent + std::string(text) + end;
  }
  return all;
}

}  // namespace

bool is_of_modules(std::string_view change) { return written(change) != nullptr; }

Edits module_edits(const SourceTree::Content& content, Node provider, Node statement, Node model,
                   std::span<const ModuleChange> changes) {
  const bool is_named = model.is("identifier");
  const std::string name(is_named ? content.text_of(model) : "model");
  const std::string end(line_end_of(content));
  const std::string indent(indentation_at(content, statement.span().begin));
  std::set<std::string_view> imports;
  std::vector<std::string_view> own = {"path", "block", is_named ? "block" : "model"};
  std::string lines = is_named ? "" : fmt::format("{}model = {}{}", indent, content.text_of(model), end);
  for (const ModuleChange& change : changes) {
    const Written& way = *written(change.name);
    const auto names = change.argument.size() <= kMostArgument ? list_of(change.argument) : std::nullopt;
    if (!names.has_value()) {
      return base::error(fmt::format("Which modules to {} is not said by their names.", way.change));
    }
    imports.insert(way.imports.begin(), way.imports.end());
    own.insert(own.end(), way.names.begin(), way.names.end());
    lines += in_lines(way.before, end, indent);
    lines += fmt::format("{0}for path in {1}:{2}{0}    block = {3}.get_submodule(path){2}", indent, *names, end, name);
    lines += fmt::format("{}    block.forward = {}{}", indent, way.forward.front(), end);
    lines += in_lines({way.forward.begin() + 1, way.forward.end()}, end, indent + "    ");
  }
  for (const std::string_view import : imports) {
    const std::string_view imported = import.substr(import.find(' ') + 1);
    if (uses_name(content, content.root(), imported)) {
      return base::error(fmt::format("The file uses the name `{}` already.", imported));
    }
  }
  for (const std::string_view each : own) {
    if (uses_name(content, provider, each)) {
      return base::error(fmt::format("The model provider uses the name `{}` already.", each));
    }
  }
  const auto place = behind_imports(content);
  if (!place.has_value() || *place > statement.span().begin || !has_lines_of_its_own(content, statement.span())) {
    return base::error("The model provider has no place for it.");
  }
  lines += indent + "return " + name;
  return std::vector<TextEdit>{{{*place, *place}, import_lines(imports, end)},
                               {statement.span(), lines.substr(indent.size())}};
}

}  // namespace ridgeline::source
