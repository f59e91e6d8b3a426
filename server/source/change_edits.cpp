#include "source/change_edits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "source/autocast_edits.h"
#include "source/edit_places.h"
#include "source/entry_point.h"
#include "source/module_edits.h"
#include "source/script_batch_size.h"
#include "source/script_edits.h"
#include "source/syntax.h"
#include "source/training_script.h"

namespace ridgeline::source {

namespace {

/// The `def` of a provider; none where it is assigned or imported.
Node function_of(const SourceTree& tree, ProviderKind kind) {
  const auto entry_point = find_entry_point(tree);
  if (!entry_point.has_value() || !entry_point->provider(kind).has_value()) {
    return {};
  }
  const Span name = entry_point->provider(kind)->name_span;
  const std::vector<Node> found = nodes_in(tree.content().root(), [&](Node node) {
    return node.is("function_definition") && node.field("name").exists() && node.field("name").span() == name;
  });
  return found.empty() ? Node() : found.front();
}

// ---- arguments of an optimizer

bool can_be(std::string_view optimizer, std::string_view argument) {
  const bool fused = is_any_of(optimizer, {"SGD", "Adam", "AdamW", "Adagrad"});
  return argument == "fused"
             ? fused
             : fused || is_any_of(optimizer, {"Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"});
}

Edits optimizer_argument(const SourceTree::Content& content, Node call, std::string_view argument,
                         std::string_view other) {
  const auto arguments = written_arguments(content, call);
  if (!arguments) {
    return arguments.error();
  }
  const std::string name(callee_name(content, call));
  std::vector<TextEdit> edits;
  bool is_there = false;
  for (const std::string_view keyword : {argument, other}) {
    const Node each = keyword_argument(content, *arguments, keyword);
    if (!each.exists()) {
      continue;
    }
    const Node value = each.field("value");
    if (!value.is("true") && !value.is("false") && !value.is("none")) {
      return base::error("`" + std::string(keyword) + "` of " + name + " is chosen by other code.");
    }
    is_there = is_there || keyword == argument;
    if (keyword == argument && !value.is("true")) {
      edits.push_back({value.span(), "True"});
    } else if (keyword == other && value.is("true")) {
      edits.push_back({value.span(), "False"});  // both at once are refused
    }
  }
  if (!is_there) {
    edits.push_back(argument_added(content, call, std::string(argument) + "=True"));
  }
  return edits;
}

Edits optimizer_edits(const SourceTree& tree, std::string_view argument, std::string_view other) {
  const SourceTree::Content& content = tree.content();
  const auto constructs = [&](Node node) { return is_call(node) && can_be(callee_name(content, node), argument); };
  const Node provider = function_of(tree, ProviderKind::kIteration);
  std::vector<Node> calls = provider.exists() ? nodes_in(provider, constructs) : std::vector<Node>();
  if (calls.empty()) {
    calls = nodes_in(content.root(), constructs);
    if (calls.size() > 1) {
      return base::error("Which optimizer of this file the step uses is not known.");
    }
  }
  if (calls.empty()) {
    return base::error("No optimizer that has `" + std::string(argument) + "` is constructed in this file.");
  }
  std::vector<TextEdit> edits;
  for (const Node call : calls) {
    auto more = optimizer_argument(content, call, argument, other);
    if (!more) {
      return more;
    }
    edits.insert(edits.end(), more->begin(), more->end());
  }
  return edits.empty() ? Edits(base::error("The code has `" + std::string(argument) + "=True` already."))
                       : Edits(std::move(edits));
}

// ---- autocast around all that the step computes before backward

/// What the first parameter of a function is called; empty: it has none.
std::string_view first_parameter(const SourceTree::Content& content, Node function) {
  for (const Node part : function.field("parameters").children()) {
    const std::vector<Node> inside = part.children();
    if (part.is("identifier")) {
      return content.text_of(part);
    }
    if ((part.is("typed_parameter") || part.is("default_parameter") || part.is("typed_default_parameter")) &&
        !inside.empty() && inside.front().is("identifier")) {
      return content.text_of(inside.front());
    }
  }
  return {};
}

Edits autocast_edits(const SourceTree& tree, std::string_view device) {
  const SourceTree::Content& content = tree.content();
  const Node provider = function_of(tree, ProviderKind::kIteration);
  const std::string_view model = provider.exists() ? first_parameter(content, provider) : "";
  if (model.empty()) {
    return base::error("The iteration provider is not a function of this file that takes the model.");
  }
  if (!imports_torch(content)) {
    return base::error("The file does not import torch by that name.");
  }
  std::vector<Node> functions = nodes_in(provider.field("body"), [&](Node node) {
    return node.is("function_definition") && !nodes_in(node, [&](Node call) {
                                                return is_call(call) &&
                                                       content.text_of(call.field("function")) == model;
                                              }).empty();
  });
  if (functions.size() != 1) {
    return base::error("Which function calls `" + std::string(model) + "` is not to be seen.");
  }
  return autocast_around(content, functions.front().field("body"), model, device);
}

// ---- the model's memory format

/// The only `return MODEL` of the model provider.
struct ReturnedModel {
  Node provider;
  Node statement;
  Node model;
};

base::Result<ReturnedModel> returned_model(const SourceTree& tree) {
  const Node provider = function_of(tree, ProviderKind::kModel);
  if (!provider.exists()) {
    return base::error("The model provider is not a function of this file.");
  }
  const std::vector<Node> returns =
      nodes_in(provider.field("body"), [](Node node) { return node.is("return_statement"); });
  const std::vector<Node> parts = returns.size() == 1 ? returns.front().children() : std::vector<Node>();
  if (parts.size() != 2 || parts.back().has_error() || parts.back().is("expression_list")) {
    return base::error("The model provider does not return one model at one place.");
  }
  return ReturnedModel{provider, returns.front(), parts.back()};
}

/// Changes of modules that are named; of all repeated ones, only who wrote them knows which these are.
Edits named_module_edits(const SourceTree& tree, std::span<const ModuleChange> changes) {
  if (std::ranges::any_of(changes, [](const ModuleChange& change) { return change.argument.empty(); })) {
    return base::error("This change is for you to write.");
  }
  if (std::ranges::find(changes, "selective-checkpoint", &ModuleChange::name) != changes.end() &&
      !imports_torch(tree.content())) {
    return base::error("The file does not import torch by that name.");
  }
  const auto returned = returned_model(tree);
  return returned ? module_edits(tree.content(), returned->provider, returned->statement, returned->model, changes)
                  : Edits(returned.error());
}

Edits channels_last_edits(const SourceTree& tree) {
  const SourceTree::Content& content = tree.content();
  const auto returned = returned_model(tree);
  if (!returned) {
    return returned.error();
  }
  if (!imports_torch(content)) {
    return base::error("The file does not import torch by that name.");
  }
  if (content.text_of(returned->provider).find("channels_last") != std::string_view::npos) {
    return base::error("The code has channels_last already.");
  }
  const Node model = returned->model;
  const Span span = model.span();
  const std::string format = ".to(memory_format=torch.channels_last)";
  if (model.is("call") || model.is("identifier") || model.is("attribute") || model.is("subscript") ||
      model.is("parenthesized_expression")) {
    return std::vector<TextEdit>{{{span.end, span.end}, format}};
  }
  return std::vector<TextEdit>{{{span.begin, span.begin}, "("}, {{span.end, span.end}, ")" + format}};
}

Edits batch_size_edits(const SourceTree& tree, std::string_view argument) {
  std::uint64_t size = 0;
  const auto [end, failed] = std::from_chars(argument.data(), argument.data() + argument.size(), size);
  std::optional<BatchSize> now;
  if (const auto entry_point = find_entry_point(tree)) {
    now = entry_point->batch_size;
  } else if (auto script = find_script_batch_size(tree)) {
    now = script->size;
  }
  if (now.has_value() && !now->can_be_edited()) {
    return base::error("The batch size cannot be edited: " + std::string(describe(now->obstacle)) + ".");
  }
  const auto edit = now.has_value() && failed == std::errc() && end == argument.data() + argument.size()
                        ? batch_size_edit(*now, size)
                        : std::nullopt;
  return edit.has_value() ? Edits(std::vector<TextEdit>{*edit})
                          : Edits(base::error("The batch size is no number in this file."));
}

// ---- the width of a layer

/// How the classes of layers name what they get and what they return; the first two positional arguments.
struct LayerWidths {
  std::string_view layer;
  std::string_view in;
  std::string_view out;  ///< empty: it returns what it gets
};
constexpr std::array<LayerWidths, 5> kLayerWidths = {{{"Linear", "in_features", "out_features"},
                                                      {"LayerNorm", "normalized_shape", ""},
                                                      {"RMSNorm", "normalized_shape", ""},
                                                      {"BatchNorm1d", "num_features", ""},
                                                      {"Embedding", "", "embedding_dim"}}};

const LayerWidths* widths_of(const SourceTree::Content& content, Node call) {
  const auto found = std::ranges::find(kLayerWidths, callee_name(content, call), &LayerWidths::layer);
  return found == kLayerWidths.end() ? nullptr : &*found;
}

/// `fc1:out_features=1008`: the number in the call that constructs the layer, and in those that get its outputs. Only
/// where all of the file's numbers of that value are among them, so that none is missed that has to follow.
class WidthEdits {
 public:
  explicit WidthEdits(const SourceTree& tree) : content_(tree.content()) {}

  Edits edits(std::string_view argument) const {
    const std::size_t colon = argument.find(':');
    const std::size_t equals = argument.find('=');
    if (colon == std::string_view::npos || equals == std::string_view::npos || equals < colon) {
      return base::error("Write set:MODULE:ATTRIBUTE=N.");
    }
    const std::string_view path = argument.substr(0, colon);
    const std::string_view name = path.substr(path.rfind('.') + 1);
    const std::string_view attribute = argument.substr(colon + 1, equals - colon - 1);
    const std::string width(argument.substr(equals + 1));
    const std::vector<Node> calls = constructors(name);
    const LayerWidths* const widths = calls.size() == 1 ? widths_of(content_, calls.front()) : nullptr;
    if (widths == nullptr || widths->out != attribute) {
      return base::error("Which call of this file constructs `" + std::string(path) + "` is not to be seen.");
    }
    const Node value = argument_of(content_, calls.front(), attribute, 1);
    if (!value.is("integer")) {
      return base::error("`" + std::string(attribute) + "` of `" + std::string(path) +
                         "` is not a number in its call.");
    }
    const std::string_view now = content_.text_of(value);
    if (now == width) {
      return base::error("The code has `" + std::string(attribute) + "` of " + width + " already.");
    }
    return replaced(value, now, width, path);
  }

 private:
  /// What is assigned to `NAME`, or to `self.NAME`, where it is a call.
  std::vector<Node> constructors(std::string_view name) const {
    std::vector<Node> calls;
    for (const Node node : nodes_in(content_.root(), [](Node each) { return each.is("assignment"); })) {
      const std::string_view target = content_.text_of(node.field("left"));
      if (target.substr(target.rfind('.') + 1) == name && node.field("right").is("call")) {
        calls.push_back(node.field("right"));
      }
    }
    return calls;
  }

  Edits replaced(Node value, std::string_view now, const std::string& width, std::string_view path) const {
    std::vector<TextEdit> edits = {{value.span(), width}};
    for (const Node call : nodes_in(content_.root(), is_call)) {
      const LayerWidths* const widths = widths_of(content_, call);
      const Node in = widths != nullptr && !widths->in.empty() ? argument_of(content_, call, widths->in, 0) : Node();
      if (in.is("integer") && content_.text_of(in) == now) {
        edits.push_back({in.span(), width});
      }
    }
    if (edits.size() < 2) {
      return base::error("What gets the outputs of `" + std::string(path) + "` is not to be seen in this file.");
    }
    const auto is_it = [&](Node node) { return node.is("integer") && content_.text_of(node) == now; };
    if (nodes_in(content_.root(), is_it).size() != edits.size()) {
      return base::error(std::string(now) + " stands at other places of this file, too: change what has to follow.");
    }
    return edits;
  }

  const SourceTree::Content& content_;
};

/// Of a change that is not of modules.
Edits edits_of(const SourceTree& tree, std::string_view name, const std::string& argument, bool is_script,
               std::string_view device) {
  if (name == "fused-optimizer") {
    return optimizer_edits(tree, "fused", "foreach");
  }
  if (name == "foreach-optimizer") {
    return optimizer_edits(tree, "foreach", "fused");
  }
  if (name == "bf16-autocast") {
    return is_script ? script_autocast_edits(tree, device) : autocast_edits(tree, device);
  }
  if (name == "channels-last") {
    return is_script ? script_channels_last_edits(tree) : channels_last_edits(tree);
  }
  if (name == "compile" && is_script) {
    return script_compile_edits(tree);
  }
  if (name == "loader-workers" && is_script) {
    return script_loader_workers_edits(tree, argument.substr(0, argument.find(',')));
  }
  if (name == "batch-size") {
    return batch_size_edits(tree, argument);
  }
  if (name == "set") {
    return WidthEdits(tree).edits(argument);
  }
  return base::error("This change is for you to write.");
}

}  // namespace

std::vector<std::string> options_behind(const SourceTree& tree, std::string_view change) {
  if (change.starts_with("batch-size:")) {
    const auto script = find_script_batch_size(tree);
    return script.has_value() ? script->options : std::vector<std::string>();
  }
  return change.starts_with("loader-workers:") ? script_loader_workers_options(tree) : std::vector<std::string>();
}

base::Result<TextEdit> bucket_size_edit(const SourceTree& tree, std::string_view mib) {
  constexpr std::string_view kArgument = "bucket_cap_mb";
  const SourceTree::Content& content = tree.content();
  if (content.has_error()) {
    return base::error("The file has a syntax error.");
  }
  const std::vector<Node> calls = nodes_in(content.root(), [&](Node node) {
    return is_call(node) && is_any_of(callee_name(content, node), {"DistributedDataParallel", "DDP"});
  });
  if (calls.size() != 1) {
    return base::error(calls.empty() ? "This file does not construct DistributedDataParallel."
                                     : "This file constructs DistributedDataParallel several times.");
  }
  const auto arguments = written_arguments(content, calls.front());
  if (!arguments) {
    return arguments.error();
  }
  const Node written = keyword_argument(content, *arguments, kArgument);
  return written.exists() ? TextEdit{written.field("value").span(), std::string(mib)}
                          : argument_added(content, calls.front(), std::string(kArgument) + "=" + std::string(mib));
}

base::Result<std::vector<TextEdit>> change_edits(const SourceTree& tree, std::span<const std::string> changes,
                                                 std::string_view device) {
  if (tree.content().has_error()) {
    return base::error("The file has a syntax error.");
  }
  const bool is_script = !find_entry_point(tree).has_value();
  std::vector<TextEdit> all;
  std::vector<ModuleChange> of_modules;  // which are written together: they are at one place
  const auto add = [&](const Edits& edits) {
    if (edits) {
      all.insert(all.end(), edits->begin(), edits->end());
    }
    return edits ? base::Result<void>() : base::Result<void>(edits.error());
  };
  for (const std::string_view change : changes) {
    const std::size_t colon = std::min(change.find(':'), change.size());
    const std::string_view name = change.substr(0, colon);
    const std::string_view argument = change.substr(std::min(colon + 1, change.size()));
    if (!is_script && is_of_modules(name)) {
      of_modules.push_back({name, argument});
    } else if (const auto added = add(edits_of(tree, name, std::string(argument), is_script, device)); !added) {
      return added.error();
    }
  }
  if (!of_modules.empty()) {
    if (const auto added = add(named_module_edits(tree, of_modules)); !added) {
      return added.error();
    }
  }
  std::ranges::stable_sort(all, {}, [](const TextEdit& edit) { return edit.span.begin; });
  const auto overlap = std::ranges::adjacent_find(
      all, [](const TextEdit& a, const TextEdit& b) { return b.span.begin < a.span.end || a.span == b.span; });
  return overlap == all.end() ? Edits(std::move(all)) : Edits(base::error("These changes are at the same place."));
}

}  // namespace ridgeline::source
