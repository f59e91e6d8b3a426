#include "base/toml.h"

#include <algorithm>
#include <utility>

namespace ridgeline::base {

namespace {

/// The byte behind a string that begins at `begin` with a quote, as TOML has them: "basic", 'literal', and each with
/// three quotes over several lines. What is not closed ends with its line, or with the text: the library refuses it.
std::size_t behind_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const std::string_view three = quote == '"' ? R"(""")" : "'''";
  const bool several_lines = text.substr(begin, 3) == three;
  for (std::size_t i = begin + (several_lines ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (text[i] == '\n' && !several_lines) {
      return i;
    } else if (text[i] == quote && !several_lines) {
      return i + 1;
    } else if (several_lines && text.substr(i, 3) == three) {
      // The last of up to five quotes: two may stand before the three that close.
      const std::size_t end = std::min(text.find_first_not_of(quote, i), text.size());
      return std::min(end, i + 5);
    }
  }
  return text.size();
}

/// Where a bound is passed, and which; an empty description where the text is within all of them.
struct Excess {
  std::size_t at = 0;
  std::string description{};
};

/// Reads the tokens that the library would see up to its first error, without recursion.
Excess find_excess(std::string_view text) {
  std::size_t nesting = 0;
  std::size_t parts = 1;
  std::size_t values = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
      case '\'':
        i = behind_string(text, i) - 1;
        continue;
      case '#':
        i = std::min(text.find('\n', i), text.size()) - 1;
        continue;
      case '.':
        if (++parts > kMaxTomlKeyParts) {
          return {i, "this key has more than " + std::to_string(kMaxTomlKeyParts) + " parts"};
        }
        continue;
      case '[':
      case '{':
        if (++nesting > kMaxTomlNesting) {
          return {i, "this is nested deeper than " + std::to_string(kMaxTomlNesting) + " levels"};
        }
        ++values;
        break;
      case ']':
      case '}':
        nesting -= nesting > 0 ? 1 : 0;
        break;
      case '=':
      case ',':
        ++values;
        break;
      case '\n':
        break;
      default:
        continue;
    }
    parts = 1;
    if (values > kMaxTomlValues) {
      return {i, "there are more than " + std::to_string(kMaxTomlValues) + " values"};
    }
  }
  return {};
}

Error wrong(const std::string& name, std::size_t line, std::size_t column, std::string_view description) {
  return error(name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + std::string(description));
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, const std::string& name) {
  if (text.size() > kMaxTomlBytes) {
    return error(name + " is larger than " + std::to_string(kMaxTomlBytes >> 20U) + " MiB");
  }
  if (const Excess excess = find_excess(text); !excess.description.empty()) {
    const std::string_view before = text.substr(0, excess.at);
    const auto line = 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
    return wrong(name, line, excess.at - (before.rfind('\n') + 1) + 1, excess.description);
  }
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::source_position at = parsed.error().source().begin;
    return wrong(name, at.line, at.column, parsed.error().description());
  }
  return std::move(parsed).table();
}

}  // namespace ridgeline::base
