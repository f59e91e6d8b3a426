#include "source/script_numbers.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>

namespace ridgeline::source {

namespace {

using Content = SourceTree::Content;
using Number = std::optional<std::int64_t>;

constexpr int kMaxNesting = 16;  // names that stand for others, and operations
constexpr int kMaxReads = 64;    // of expressions for one number: each may look through the whole script
constexpr std::int64_t kNumberLimit = 10'000'000;

std::string_view unquoted(std::string_view literal) {
  const std::size_t first = literal.find_first_of("\"'");
  const std::size_t last = literal.find_last_of("\"'");
  return first == last ? std::string_view() : literal.substr(first + 1, last - first - 1);
}

Number integer(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '_');
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  return result.ec == std::errc() && result.ptr == end && value < kNumberLimit ? Number(value) : std::nullopt;
}

/// The value that a dict gives a key: of `{"key": value}` or `dict(key=value)`.
Node entry_of(const Content& content, Node dict, std::string_view key) {
  if (called_name(content, dict) == "dict") {
    return argument_of(content, dict, key, -1);
  }
  Node found;
  for (const Node pair : dict.is("dictionary") ? dict.children() : std::vector<Node>()) {
    if (pair.is("pair") && pair.field("key").is("string") && unquoted(content.text_of(pair.field("key"))) == key) {
      found = pair.field("value");
    }
  }
  return found;
}

class NumberReader {
 public:
  NumberReader(const Content& content, const TrainingScript& script) : content_(content), script_(script) {}

  Number number(Node value, int nesting = 0) {
    value = without_parentheses(value);
    if (!value.exists() || nesting > kMaxNesting || ++reads_ > kMaxReads) {
      return std::nullopt;
    }
    if (value.is("integer")) {
      return integer(content_.text_of(value));
    }
    if (value.is("binary_operator")) {
      return result_of(content_.text_of(value.field("operator")), number(value.field("left"), nesting + 1),
                       number(value.field("right"), nesting + 1));
    }
    if (value.is("identifier")) {
      const std::string_view name = content_.text_of(value);
      const ScriptStatement* const assigned = assignment_of(script_, name);
      return assigned != nullptr ? number(assigned->value, nesting + 1) : setting(name);
    }
    if (value.is("attribute")) {
      return setting(content_.text_of(value.field("attribute")));
    }
    const Node key = value.is("subscript") ? value.field("subscript") : Node();
    return key.is("string") ? setting(unquoted(content_.text_of(key))) : std::nullopt;
  }

  /// The only number of the text that the value is.
  NumberPlace place(Node value, int nesting = 0) {
    value = without_parentheses(value);
    if (!value.exists() || nesting > kMaxNesting) {
      return {};
    }
    if (value.is("integer")) {
      return {value, {}};
    }
    if (value.is("identifier")) {
      return place_of_name(content_.text_of(value), nesting);
    }
    if (value.is("attribute")) {
      return place_of_setting(content_.text_of(value.field("attribute")));
    }
    const Node key = value.is("subscript") ? value.field("subscript") : Node();
    return key.is("string") ? place_of_setting(unquoted(content_.text_of(key))) : NumberPlace();
  }

  NumberPlace place_of_name(std::string_view name, int nesting = 0) {
    const ScriptStatement* const assigned = assignment_of(script_, name);
    return assigned != nullptr ? place(assigned->value, nesting + 1) : place_of_setting(name);
  }

 private:
  static Number result_of(std::string_view sign, Number left, Number right) {
    if (!left || !right || *left < 0 || *right < 0) {
      return std::nullopt;
    }
    if (sign == "*") {
      return *left * *right < kNumberLimit ? Number(*left * *right) : std::nullopt;
    }
    return sign == "+"                  ? Number(*left + *right)
           : sign == "-"                ? Number(*left - *right)
           : sign == "//" && *right > 0 ? Number(*left / *right)
                                        : std::nullopt;
  }

  NumberPlace place_of_setting(std::string_view name) const {
    const std::vector<Node> stated = settings(name);
    if (stated.size() != 1) {
      return {};
    }
    NumberPlace place{stated.front(), {}};
    for_each_node(content_.root(), [&](Node node, const std::vector<Node>& /*ancestors*/) {
      if (const Node value = option_default(node, name); value.exists() && value.span() == place.literal.span()) {
        place.options = spellings_of(node);
      }
    });
    if (place.options.empty()) {  // libraries that make options of a configuration's fields spell them so
      std::string spelling = "--" + std::string(name);
      place.options.push_back(spelling);
      std::ranges::replace(spelling, '_', '-');
      place.options.push_back(std::move(spelling));
    }
    return place;
  }

  /// A setting by its name.
  Number setting(std::string_view name) const {
    std::set<std::int64_t> found;
    for (const Node literal : settings(name)) {
      found.insert(*integer(content_.text_of(literal)));
    }
    return found.size() == 1 ? Number(*found.begin()) : std::nullopt;
  }

  /// The numbers that a setting is given: an option's default goes before what a configuration states, as the command
  /// line decides.
  std::vector<Node> settings(std::string_view name) const {
    std::vector<Node> options;
    std::vector<Node> fields;
    const auto add = [&](std::vector<Node>& numbers, Node literal) {
      if (literal.is("integer") && integer(content_.text_of(literal)).has_value()) {
        numbers.push_back(literal);
      }
    };
    for_each_node(content_.root(), [&](Node node, const std::vector<Node>& /*ancestors*/) {
      add(options, option_default(node, name));
      add(fields, stated(node, name));
    });
    return options.empty() ? fields : options;
  }

  /// `default` in the call `parser.add_argument("--batch-size", default=64)`, or click's `option`, for "batch_size".
  Node option_default(Node call, std::string_view name) const {
    if (!call.is("call") || !is_any_of(called_name(content_, call), {"add_argument", "option"})) {
      return {};
    }
    for (std::string spelling : spellings_of(call)) {
      std::ranges::replace(spelling, '-', '_');
      if (spelling.starts_with("__") && spelling.substr(2) == name) {
        return argument_of(content_, call, "default", -1);
      }
    }
    return {};
  }

  /// The options that a call of `add_argument`, or click's `option`, names first.
  std::vector<std::string> spellings_of(Node call) const {
    constexpr int kMaxSpellings = 3;
    std::vector<std::string> spellings;
    for (int i = 0; i < kMaxSpellings; ++i) {
      const Node option = argument_of(content_, call, "", i);
      const std::string_view spelling = option.is("string") ? unquoted(content_.text_of(option)) : std::string_view();
      if (spelling.starts_with('-')) {
        spellings.emplace_back(spelling);
      }
    }
    return spellings;
  }

  /// What a configuration states: a field of a class, an argument of one, an entry of a dict.
  Node stated(Node node, std::string_view name) const {
    if (node.is("dictionary")) {
      return entry_of(content_, node, name);
    }
    if (node.is("call")) {
      const std::string_view called = called_name(content_, node);
      const bool configures = is_any_of(called, {"dict", "Namespace", "SimpleNamespace", "set_defaults", "DictConfig"});
      return configures || is_configuration(called) ? argument_of(content_, node, name, -1) : Node();
    }
    const Node body = node.is("class_definition") ? node.field("body") : Node();
    for (const Node statement : body.exists() ? body.children() : std::vector<Node>()) {
      const std::vector<Node> parts = statement.is("expression_statement") ? statement.children() : std::vector<Node>();
      const Node assignment = !parts.empty() && parts[0].is("assignment") ? parts[0] : Node();
      if (assignment.exists() && content_.text_of(assignment.field("left")) == name) {
        const Node value = assignment.field("right");
        return called_name(content_, value) == "field" ? argument_of(content_, value, "default", -1) : value;
      }
    }
    return {};
  }

  bool is_configuration(std::string_view called) const {
    return script_.definitions.contains(called) && !script_.models.contains(called);
  }

  const Content& content_;
  const TrainingScript& script_;
  int reads_ = 0;
};

}  // namespace

Node argument_or_option(const Content& content, const TrainingScript& script, Node call, std::string_view keyword,
                        int position) {
  if (const Node direct = argument_of(content, call, keyword, position); direct.exists()) {
    return direct;
  }
  const Node list = call.is("call") ? call.field("arguments") : Node();
  for (const Node argument : list.is("argument_list") ? list.children() : std::vector<Node>()) {
    const std::vector<Node> parts = argument.is("dictionary_splat") ? argument.children() : std::vector<Node>();
    Node options = parts.empty() ? Node() : parts.back();
    if (options.is("identifier")) {
      const ScriptStatement* const assigned = assignment_of(script, content.text_of(options));
      options = assigned != nullptr ? assigned->value : Node();
    }
    if (const Node value = entry_of(content, options, keyword); value.exists()) {
      return value;
    }
  }
  return {};
}

std::string number_of(const Content& content, const TrainingScript& script, Node value) {
  const Number number = NumberReader(content, script).number(value);
  return number.has_value() && *number > 0 ? std::to_string(*number) : std::string();
}

NumberPlace number_place_of(const Content& content, const TrainingScript& script, Node value) {
  return NumberReader(content, script).place(value);
}

NumberPlace setting_place_of(const Content& content, const TrainingScript& script, std::string_view name) {
  return NumberReader(content, script).place_of_name(name);
}

}  // namespace ridgeline::source
