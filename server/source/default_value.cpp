#include "source/default_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "base/utf8.h"

namespace ridgeline::source {

namespace {

constexpr std::string_view kParameter = "batch_size";
constexpr std::size_t kMaxShownBytes = 40;

/// Digits as Python writes them, underscores between them taken out; nothing when it is not an integer of Python's.
struct Integer {
  std::string digits;
  int base = 10;
  bool grouped = false;
};

bool grouped_by_thousands(std::string_view text) {
  const std::size_t first = text.find('_');
  if (first == std::string_view::npos || first > 3) {
    return false;
  }
  for (std::size_t at = first; at < text.size(); at += 4) {
    if (text[at] != '_' || text.substr(at + 1, 3).size() != 3 ||
        text.substr(at + 1, 3).find('_') != std::string_view::npos) {
      return false;
    }
  }
  return true;
}

bool is_digit(char byte, std::size_t base) {
  const bool letter = byte >= 'A' && byte <= 'F';
  return std::string_view("0123456789abcdef").substr(0, base).find(letter ? static_cast<char>(byte + 32) : byte) !=
         std::string_view::npos;
}

std::optional<Integer> read_integer(std::string_view text) {
  Integer integer;
  bool after_digit = false;  // an underscore stands behind a digit, or behind the base
  if (text.size() > 2 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    integer.base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
  }
  const std::string_view digits = integer.base == 10 ? text : text.substr(2);
  after_digit = integer.base != 10;
  for (const char byte : digits) {
    if (byte == '_' && after_digit) {
      after_digit = false;
    } else if (is_digit(byte, static_cast<std::size_t>(integer.base))) {
      after_digit = true;
      integer.digits += byte;
    } else {
      return std::nullopt;
    }
  }
  const bool leading_zero = integer.base == 10 && integer.digits.starts_with('0') &&
                            integer.digits.find_first_not_of('0') != std::string::npos;
  if (!after_digit || integer.digits.empty() || leading_zero) {
    return std::nullopt;
  }
  integer.grouped = integer.base == 10 && grouped_by_thousands(text);
  return integer;
}

std::optional<std::uint64_t> value_of(const Integer& integer) {
  std::uint64_t value = 0;
  const char* end = integer.digits.data() + integer.digits.size();
  const auto result = std::from_chars(integer.digits.data(), end, value, integer.base);
  return result.ec == std::errc() ? std::optional(value) : std::nullopt;
}

/// On one line, and cut.
std::string shown(std::string_view text) {
  const bool cut = text.size() > kMaxShownBytes;
  const std::string_view part = cut ? base::cut_utf8(text, kMaxShownBytes) : text;
  std::string line(part.substr(0, part.find_first_of("\r\n")));
  return line.size() < text.size() ? line + "…" : line;
}

DefaultValue missing() {
  return {{BatchSizeObstacle::kNoDefault, {}, {}, false},
          "batch-size-missing",
          "input_provider needs a parameter `batch_size` with a default, such as `batch_size=32`."};
}

DefaultValue hindered(BatchSizeObstacle obstacle, Span span) { return {{obstacle, span, {}, false}, {}, {}}; }

DefaultValue invalid(BatchSize batch_size, std::string_view text) {
  return {batch_size, "batch-size-invalid",
          "The default of `batch_size` must be a positive integer, at most " + std::to_string(kMaxBatchSize) +
              ", and is " + shown(text) + "."};
}

/// Literals that are not integers, whatever is in them.
bool is_never_integer(Node node) {
  constexpr auto kTypes =
      std::to_array<std::string_view>({"true", "false", "none", "float", "string", "concatenated_string", "list",
                                       "tuple", "dictionary", "set", "ellipsis", "lambda", "list_comprehension",
                                       "dictionary_comprehension", "set_comprehension", "generator_expression"});
  return std::ranges::find(kTypes, node.type()) != kTypes.end();
}

DefaultValue of_integer(std::string_view text, Span whole, Node literal) {
  const std::optional<Integer> integer = read_integer(slice(text, literal.span()));
  if (!integer.has_value()) {  // 032, 1__0 and 3j are integers of the grammar
    const bool imaginary = slice(text, literal.span()).find_first_of("jJ") != std::string_view::npos;
    const BatchSize hindrance = {BatchSizeObstacle::kNotInteger, whole, {}, false};
    return imaginary ? invalid(hindrance, slice(text, whole)) : DefaultValue{hindrance, {}, {}};
  }
  const BatchSize batch_size = {BatchSizeObstacle::kNone, literal.span(), value_of(*integer), integer->grouped};
  const bool fits = batch_size.value.has_value() && *batch_size.value >= 1 && *batch_size.value <= kMaxBatchSize;
  return fits ? DefaultValue{batch_size, {}, {}} : invalid(batch_size, slice(text, whole));
}

}  // namespace

DefaultValue read_value(std::string_view text, Node value) {
  const Span whole = value.span();
  if (value.has_error() || value.is_missing()) {
    return hindered(BatchSizeObstacle::kUnfinished, whole);
  }
  Node inner = without_parentheses(value);
  bool signs = false;
  while (inner.is("unary_operator") && text[inner.span().begin] == '+') {
    signs = true;
    inner = without_parentheses(inner.field("argument"));
  }
  if (inner.is("integer")) {
    return of_integer(text, whole, inner);
  }
  if (signs) {
    return hindered(BatchSizeObstacle::kExpression, whole);  // +True is 1
  }
  const Node operand = inner.is("unary_operator") ? without_parentheses(inner.field("argument")) : Node();
  if (text[inner.span().begin] == '-' && (operand.is("integer") || operand.is("float"))) {
    return invalid({BatchSizeObstacle::kNegative, whole, {}, false}, slice(text, whole));
  }
  if (is_never_integer(inner)) {
    return invalid({BatchSizeObstacle::kNotInteger, whole, {}, false}, slice(text, whole));
  }
  const bool name = inner.is("identifier") || inner.is("attribute");
  return hindered(name ? BatchSizeObstacle::kName : BatchSizeObstacle::kExpression, whole);
}

namespace {

bool is_word(char byte) {
  return byte == '_' || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         static_cast<unsigned char>(byte) >= 0x80;
}

/// How often a text may assign a name, counted without its syntax and rather too often: `NAME = 1`, `NAME: int = 1`,
/// `f(NAME=1)`, `global NAME`, `for NAME in`, `import x as NAME`, `NAME += 1`.
std::size_t assignments_of(std::string_view text, std::string_view name) {
  std::size_t count = 0;
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + name.size())) {
    const std::size_t end = at + name.size();
    if ((at > 0 && is_word(text[at - 1])) || (end < text.size() && is_word(text[end]))) {
      continue;
    }
    const std::size_t after = std::min(text.find_first_not_of(" \t", end), text.size());
    const std::string_view rest = text.substr(after, 3);
    const bool equals = rest.starts_with('=') && !rest.starts_with("==");
    const bool augmented =
        rest.size() > 1 && base::contains("+-*/%&|^@<>:", rest.substr(0, 1)) && base::contains(rest.substr(1), "=");
    const bool typed = rest.starts_with(':') && base::contains(text.substr(after, text.find('\n', after) - after), "=");
    const std::size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is the beginning
    std::string_view before = text.substr(line, at - line);
    before.remove_suffix(before.size() - (before.find_last_not_of(" \t,") + 1));
    const bool bound =
        std::ranges::any_of(std::to_array<std::string_view>({"global", "for", "as", "import", "nonlocal"}),
                            [&](std::string_view word) { return before.ends_with(word); });
    count += equals || augmented || typed || bound ? 1 : 0;
  }
  return count;
}

/// The name of a parameter that an argument can be given to by name.
Node name_of_parameter(Node parameter) {
  if (parameter.is("default_parameter") || parameter.is("typed_default_parameter")) {
    return parameter.field("name");
  }
  if (parameter.is("typed_parameter")) {
    const std::vector<Node> parts = parameter.children();
    parameter = parts.empty() ? Node() : parts.front();
  }
  return parameter.is("identifier") ? parameter : Node();
}

}  // namespace

DefaultValue read_default(std::string_view text, Node parameters) {
  if (!parameters.exists()) {
    return missing();
  }
  for (const Node parameter : parameters.children()) {
    const Node name = name_of_parameter(parameter);
    if (name.exists() && slice(text, name.span()) == kParameter) {
      const Node value = parameter.field("value");
      if (value.exists()) {
        return read_value(text, value);
      }
      return parameters.has_error() ? hindered(BatchSizeObstacle::kUnfinished, parameter.span()) : missing();
    }
  }
  return parameters.has_error() ? hindered(BatchSizeObstacle::kUnfinished, parameters.span()) : missing();
}

std::optional<BatchSize> read_constant(const SourceTree::Content& content, const BatchSize& batch_size) {
  const std::string_view name = slice(content.text, batch_size.literal);
  if (batch_size.obstacle != BatchSizeObstacle::kName || base::contains(name, ".") ||
      assignments_of(content.text, name) != 1) {
    return std::nullopt;
  }
  for (const Node statement : content.root().children()) {
    const std::vector<Node> parts = statement.is("expression_statement") ? statement.children() : std::vector<Node>();
    const Node assignment = !parts.empty() && parts[0].is("assignment") ? parts[0] : Node();
    if (assignment.field("left").is("identifier") && content.text_of(assignment.field("left")) == name) {
      const Node value = assignment.field("right");
      const DefaultValue found = value.exists() ? read_value(content.text, value) : missing();
      return found.batch_size.can_be_edited() && found.mistake.empty() ? std::optional(found.batch_size) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::string_view describe(BatchSizeObstacle obstacle) {
  switch (obstacle) {
    case BatchSizeObstacle::kNone:
      return "";
    case BatchSizeObstacle::kElsewhere:
      return "input_provider is defined elsewhere";
    case BatchSizeObstacle::kSeveral:
      return "input_provider is defined in several branches, and only the run knows which one counts";
    case BatchSizeObstacle::kNoDefault:
      return "batch_size has no default";
    case BatchSizeObstacle::kName:
      return "the default of batch_size is a name, not a number";
    case BatchSizeObstacle::kExpression:
      return "the default of batch_size is computed";
    case BatchSizeObstacle::kNegative:
      return "the default of batch_size is negative";
    case BatchSizeObstacle::kNotInteger:
      return "the default of batch_size is not an integer";
    case BatchSizeObstacle::kUnfinished:
      return "the signature of input_provider is not finished";
    case BatchSizeObstacle::kNotInFile:
      return "no number in this file decides it";
    case BatchSizeObstacle::kSeveralNumbers:
      return "several numbers in this file decide it";
    case BatchSizeObstacle::kOtherQuantity:
      return "the step took another number of samples than the number in this file";
    case BatchSizeObstacle::kArgument:
      return "an argument of the run goes before the number in this file";
  }
  return "";
}

std::optional<TextEdit> batch_size_edit(const BatchSize& batch_size, std::uint64_t value) {
  if (!batch_size.can_be_edited() || value < 1 || value > kMaxBatchSize) {
    return std::nullopt;
  }
  std::string digits = std::to_string(value);
  if (batch_size.grouped) {
    for (std::size_t at = digits.size(); at > 3;) {
      at -= 3;
      digits.insert(at, 1, '_');
    }
  }
  return TextEdit{batch_size.literal, std::move(digits)};
}

}  // namespace ridgeline::source
