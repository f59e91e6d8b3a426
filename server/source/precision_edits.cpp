#include "source/precision_edits.h"

#include <algorithm>
#include <string>
#include <vector>

#include "source/syntax.h"

namespace ridgeline::source {

namespace {

using Content = SourceTree::Content;

constexpr std::string_view kArguments = "TrainingArguments";

/// What a name was assigned, where the value is one; else the value.
Node assigned_value(const Content& content, const TrainingScript& script, Node value) {
  const ScriptStatement* const assigned =
      value.is("identifier") ? assignment_of(script, content.text_of(value)) : nullptr;
  return assigned != nullptr ? assigned->value : value;
}

/// The options that become true, in this order.
std::vector<std::string_view> options_of(std::string_view device) {
  return device == "cpu" ? std::vector<std::string_view>{"use_cpu", "bf16"} : std::vector<std::string_view>{"bf16"};
}

Edits in_call(const Content& content, Node call, std::string_view device) {
  const auto arguments = written_arguments(content, call);
  if (!arguments) {
    return arguments.error();
  }
  if (const Node half = keyword_argument(content, *arguments, "fp16");
      half.exists() && !half.field("value").is("false")) {
    return base::error("The script sets `fp16`.");
  }
  std::vector<TextEdit> edits;
  std::string added;
  for (const std::string_view option : options_of(device)) {
    const Node argument = keyword_argument(content, *arguments, option);
    const Node value = argument.exists() ? argument.field("value") : Node();
    if (value.is("false")) {
      edits.push_back({value.span(), "True"});
    } else if (!argument.exists()) {
      added += (added.empty() ? "" : ", ") + std::string(option) + "=True";
    } else if (!value.is("true")) {
      return base::error("`" + std::string(option) + "` of the TrainingArguments is chosen by other code.");
    } else if (option == "bf16") {
      return base::error("The code has `bf16=True` already.");
    }
  }
  if (!added.empty()) {
    edits.push_back(argument_added(content, call, added));
  }
  std::ranges::sort(edits, {}, [](const TextEdit& edit) { return edit.span.begin; });
  return edits;
}

/// Whether it is a data class of TrainingArguments: `@dataclass class Arguments(TrainingArguments)`.
bool has_arguments_as_base(const Content& content, Node decorated) {
  const Node bases = decorated.field("definition").field("superclasses");
  const Node decorator = decorated.children().front();
  return bases.exists() && content.text_of(decorator).find("dataclass") != std::string_view::npos &&
         std::ranges::any_of(bases.children(), [&](Node base) { return content.text_of(base).ends_with(kArguments); });
}

/// Fields with a default, behind the last one of the class.
Edits in_class(const Content& content, Node definition, std::string_view device) {
  Node last;
  for (const Node statement : definition.field("body").children()) {
    const std::vector<Node> parts = statement.children();
    if (!statement.is("expression_statement") || parts.empty() || !parts.front().is("assignment")) {
      continue;
    }
    const std::string_view name = content.text_of(parts.front().field("left"));
    if (name == "fp16" || name == "bf16" || name == "use_cpu") {
      return base::error("The script sets `" + std::string(name) + "`.");
    }
    last = statement;
  }
  if (!last.exists() || !has_lines_of_its_own(content, last.span())) {
    return base::error("The fields of the TrainingArguments share a line with other statements.");
  }
  const std::size_t end = last.span().end;
  std::string fields;
  for (const std::string_view option : options_of(device)) {
    fields += std::string(line_end_of(content)) + std::string(indentation_at(content, last.span().begin)) +
              std::string(option) + ": bool = True";
  }
  return std::vector<TextEdit>{{{end, end}, fields}};
}

}  // namespace

Edits trainer_precision_edits(const Content& content, const TrainingScript& script, std::string_view device) {
  const Node given = script.trainer.exists() ? argument_of(content, script.trainer, "args", 1) : Node();
  if (const Node call = assigned_value(content, script, given);
      call.is("call") && callee_name(content, call).ends_with(kArguments)) {
    return in_call(content, call, device);
  }
  const std::vector<Node> classes = nodes_in(content.root(), [&](Node node) {
    return node.is("decorated_definition") && has_arguments_as_base(content, node);
  });
  if (classes.size() != 1) {
    return base::error("Where the script sets up its TrainingArguments is not to be seen in this file.");
  }
  return in_class(content, classes.front().field("definition"), device);
}

Edits lightning_precision_edits(const Content& content, const TrainingScript& script) {
  const Node method = script.trainer.exists() ? script.trainer.field("function") : Node();
  const Node call = method.is("attribute") ? assigned_value(content, script, method.field("object")) : Node();
  if (!call.is("call") || callee_name(content, call) != "Trainer") {
    return base::error("Where the script constructs its Trainer is not to be seen in this file.");
  }
  constexpr std::string_view kPrecision = "precision";
  const std::string wanted = "\"bf16-mixed\"";
  const std::vector<TextEdit> added = {argument_added(content, call, std::string(kPrecision) + "=" + wanted)};
  if (arguments_of(call.field("arguments")).empty()) {
    return added;
  }
  const auto arguments = written_arguments(content, call);
  if (!arguments) {
    return arguments.error();
  }
  const Node argument = keyword_argument(content, *arguments, kPrecision);
  if (!argument.exists()) {
    return added;
  }
  const Node value = argument.field("value");
  const std::string_view text = content.text_of(value);
  if (!is_any_of(text, {"32", "\"32\"", "'32'", "\"32-true\"", "'32-true'"})) {
    return base::error("The script sets `precision` of its Trainer.");
  }
  return std::vector<TextEdit>{{value.span(), wanted}};
}

}  // namespace ridgeline::source
