#include "source/bindings.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/line_index.h"
#include "source/provider_names.h"
#include "source/syntax.h"

namespace ridgeline::source {

namespace {

/// A condition that does not hold where the runner loads the file, as a module that is not `__main__`.
bool never_holds(std::string_view text, Node condition) {
  if (!condition.exists()) {
    return false;
  }
  condition = without_parentheses(condition);
  std::string compact(slice(text, condition.span()).substr(0, 64));
  std::erase_if(compact, [](char byte) { return byte == ' ' || byte == '\t'; });
  std::ranges::replace(compact, '\'', '"');
  return compact == "TYPE_CHECKING" || compact.ends_with(".TYPE_CHECKING") || compact == "False" || compact == "0" ||
         compact == "__name__==\"__main__\"" || compact == "\"__main__\"==__name__";
}

/// What a literal is, as the runner describes it; empty when it may be callable.
std::string_view literal_kind(Node value) {
  constexpr auto kKinds = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"integer", "an int"},
      {"float", "a float"},
      {"string", "a str"},
      {"concatenated_string", "a str"},
      {"true", "a bool"},
      {"false", "a bool"},
      {"none", "nothing"},
      {"list", "a list"},
      {"tuple", "a tuple"},
      {"dictionary", "a dict"},
      {"set", "a set"},
      {"list_comprehension", "a list"},
      {"dictionary_comprehension", "a dict"},
      {"set_comprehension", "a set"},
  });
  const auto* const found =
      std::ranges::find(kKinds, value.type(), &std::pair<std::string_view, std::string_view>::first);
  return found == kKinds.end() ? std::string_view() : found->second;
}

/// Walks the statements of one statement of the top, and notes what it binds.
class Collector {
 public:
  Collector(const SourceTree& tree, std::vector<Binding>& found)
      : content_(tree.content()), lines_(tree.lines()), found_(found) {}

  void collect(Node top, bool in_error) {
    waiting_.push_back({top, false, in_error});
    while (!waiting_.empty()) {
      const Item item = waiting_.back();
      waiting_.pop_back();
      visit(item);
    }
  }

 private:
  struct Item {
    Node node;
    bool nested;
    bool in_error;  ///< pieces of functions and classes lie there, too: what is indented is not of the top
  };

  void visit(const Item& item) {
    const Node node = item.node;
    if (node.is("function_definition") || node.is("decorated_definition") || node.is("class_definition")) {
      if (!item.in_error || at_line_start(node)) {
        definition(item);
      }
    } else if (node.is("expression_statement")) {
      const std::vector<Node> parts = node.children();
      if (!parts.empty() && parts.front().is("assignment") && (!item.in_error || at_line_start(node))) {
        assignment(item, parts.front());
      }
    } else if (node.is("import_from_statement") || node.is("import_statement")) {
      import(item);
    } else if (holds_statements(node)) {
      statements(item);
    }
  }

  bool at_line_start(Node node) const {
    const std::size_t begin = node.span().begin;
    return lines_.start_of(lines_.line_of(begin)) == begin;
  }

  void statements(const Item& item) {
    const bool skipped = never_holds(content_.text, item.node.field("condition"));
    const Node consequence = item.node.field("consequence");
    const bool error = item.node.is("ERROR");
    std::vector<Node> parts = item.node.children();
    std::ranges::reverse(parts);
    for (const Node part : parts) {
      if (!skipped || part.span() != consequence.span()) {
        waiting_.push_back({part, item.nested || !error, item.in_error || error});
      }
    }
  }

  Binding* add(const Item& item, Node name, BindingForm form) {
    if (!name.exists()) {
      return nullptr;
    }
    const std::string_view name_text = content_.text_of(name);
    const auto provider = provider_named(name_text);
    if (!provider.has_value()) {
      return nullptr;
    }
    Binding binding;
    binding.kind = provider->kind;
    binding.generation = provider->generation;
    binding.name = name_text;
    binding.form = form;
    binding.nested = item.nested;
    binding.name_span = name.span();
    binding.definition = item.node.span();
    found_.push_back(std::move(binding));
    return &found_.back();
  }

  void signature(Binding& binding, Node parameters) const {
    if (binding.kind == ProviderKind::kInput) {
      binding.batch_size = read_default(content_.text, parameters);
    }
  }

  void definition(const Item& item) {
    const bool decorated = item.node.is("decorated_definition");
    const Node inner = decorated ? item.node.field("definition") : item.node;
    const bool function = inner.is("function_definition");
    Binding* binding = add(item, inner.field("name"), function ? BindingForm::kFunction : BindingForm::kElsewhere);
    if (binding == nullptr || !function) {
      return;
    }
    binding->decorated = decorated;
    binding->asynchronous = slice(content_.text, inner.span()).starts_with("async");
    signature(*binding, inner.field("parameters"));
  }

  void assignment(const Item& item, Node statement) {
    std::vector<Node> targets;
    while (statement.is("assignment")) {
      targets.push_back(statement.field("left"));
      statement = statement.field("right");
    }
    if (!statement.exists()) {
      return;  // `name: type` gives it no value
    }
    const Node value = without_parentheses(statement);
    for (const Node target : targets) {
      if (target.is("identifier")) {
        assigned(item, target, value);
      } else {
        unpacked(item, target);
      }
    }
  }

  void assigned(const Item& item, Node target, Node value) {
    const auto source = value.is("identifier") ? provider_named(content_.text_of(value)) : std::nullopt;
    const auto own = provider_named(content_.text_of(target));
    if (source.has_value() && own.has_value() && source->kind == own->kind) {
      return;  // a second name for the same function
    }
    const std::string_view literal = literal_kind(value);
    const BindingForm form = value.is("lambda") ? BindingForm::kLambda
                             : !literal.empty() ? BindingForm::kNotCallable
                                                : BindingForm::kElsewhere;
    Binding* binding = add(item, target, form);
    if (binding != nullptr) {
      binding->value = literal;
      if (form == BindingForm::kLambda) {
        signature(*binding, value.field("parameters"));
      }
    }
  }

  /// `model_provider, (input_provider, *rest) = ...`
  void unpacked(const Item& item, Node pattern) {
    std::vector<Node> waiting = {pattern};
    while (!waiting.empty()) {
      const Node part = waiting.back();
      waiting.pop_back();
      if (part.is("identifier")) {
        add(item, part, BindingForm::kElsewhere);
      } else if (part.is("pattern_list") || part.is("tuple_pattern") || part.is("list_pattern") ||
                 part.is("list_splat_pattern")) {
        const std::vector<Node> parts = part.children();
        waiting.insert(waiting.end(), parts.begin(), parts.end());
      }
    }
  }

  void import(const Item& item) {
    const bool from = item.node.is("import_from_statement");
    const std::size_t module_end = from && item.node.field("module_name").exists()
                                       ? item.node.field("module_name").span().end
                                       : item.node.span().begin;
    for (Node part : item.node.children()) {
      if (part.span().begin < module_end) {
        continue;
      }
      const Node name = part.is("aliased_import") ? part.field("alias") : part.is("dotted_name") ? part : Node();
      Binding* binding = add(item, name, from ? BindingForm::kElsewhere : BindingForm::kNotCallable);
      if (binding != nullptr && !from) {
        binding->value = "a module";
      }
    }
  }

  const SourceTree::Content& content_;
  const base::LineIndex& lines_;
  std::vector<Binding>& found_;
  std::vector<Item> waiting_;
};

}  // namespace

Bindings visible_bindings(const SourceTree& tree) {
  Bindings bindings;
  const SourceTree::Content& content = tree.content();
  const Node root = content.root();
  Collector collector(tree, bindings.list);
  std::size_t done = 0;
  std::size_t names = 0;
  for (auto word = next_provider_name(content.text, 0); word; word = next_provider_name(content.text, word->end)) {
    if (++names > kMaxProviderNames) {
      bindings.complete = false;
      break;
    }
    bindings.mentioned[static_cast<std::size_t>(provider_named(slice(content.text, *word))->kind)] = true;
    if (word->begin < done) {
      continue;
    }
    Cursor cursor(root);
    if (cursor.to_child_after(word->begin)) {
      const Node statement = cursor.node();
      done = statement.span().end;
      collector.collect(statement, root.is("ERROR"));
    }
  }
  return bindings;
}

std::array<bool, kProviderKinds> named_in_code(const SourceTree& tree) {
  std::array<bool, kProviderKinds> named{};
  const SourceTree::Content& content = tree.content();
  for (auto word = next_provider_name(content.text, 0); word; word = next_provider_name(content.text, word->end)) {
    Cursor cursor(content.root());
    while (cursor.to_child_after(word->begin) && cursor.node().span().begin <= word->begin) {
    }
    if (!cursor.node().is("comment")) {
      named[static_cast<std::size_t>(provider_named(slice(content.text, *word))->kind)] = true;
    }
  }
  return named;
}

std::vector<Span> top_functions(const SourceTree& tree) {
  std::vector<Span> names;
  Cursor cursor(tree.content().root());
  for (bool more = cursor.to_first_child(); more; more = cursor.to_next_sibling()) {
    const Node node = cursor.node();
    const Node inner = node.is("decorated_definition") ? node.field("definition") : node;
    const Node name = inner.is("function_definition") ? inner.field("name") : Node();
    if (name.exists()) {
      names.push_back(name.span());
    }
  }
  return names;
}

bool has_star_import(const SourceTree& tree) {
  const SourceTree::Content& content = tree.content();
  const std::string_view text = content.text;
  for (std::size_t at = text.find('*'); at != std::string_view::npos; at = text.find('*', at + 1)) {
    const std::size_t before = text.find_last_not_of(" \t\\(\r\n", at == 0 ? 0 : at - 1);
    if (before != std::string_view::npos && text.substr(0, before + 1).ends_with("import")) {
      return true;
    }
  }
  return false;
}

}  // namespace ridgeline::source
