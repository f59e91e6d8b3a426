#include "source/hydra_config.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/text.h"
#include "source/edit_places.h"
#include "source/script_numbers.h"
#include "source/training_loaders.h"
#include "source/training_script.h"

namespace ridgeline::source {

namespace {

using Content = SourceTree::Content;

constexpr std::size_t kUnknown = std::string_view::npos;

std::string_view without_quotes(std::string_view text) {
  const bool is_quoted =
      text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

std::string string_argument(const Content& content, Node call, std::string_view keyword, int position) {
  const Node value = argument_of(content, call, keyword, position);
  return value.is("string") ? std::string(without_quotes(content.text_of(value))) : std::string();
}

/// The call of hydra.main, and the name of what it decorates gets as its configuration.
struct HydraMain {
  Node call;
  std::string_view config;
};

std::optional<HydraMain> hydra_main(const Content& content) {
  for (const Node decorated : nodes_in(content.root(), [](Node node) { return node.is("decorated_definition"); })) {
    const Node function = decorated.field("definition");
    const Node parameters = function.is("function_definition") ? function.field("parameters") : Node();
    const auto names = parameters.exists() ? nodes_in(parameters, [](Node node) { return node.is("identifier"); })
                                           : std::vector<Node>();
    for (const Node child : decorated.children()) {
      const auto calls = child.is("decorator") ? nodes_in(child, is_call) : std::vector<Node>();
      if (!calls.empty() && content.text_of(calls.front().field("function")) == "hydra.main" && !names.empty()) {
        return HydraMain{calls.front(), content.text_of(names.front())};
      }
    }
  }
  return std::nullopt;
}

/// "train", "batch_size" for `cfg.train.batch_size`, also `cfg["train"]["batch_size"]`; empty: it is nothing such.
std::vector<std::string> keys_of(const Content& content, Node value, std::string_view config) {
  std::vector<std::string> keys;
  while (value.is("attribute") || value.is("subscript")) {
    const bool is_attribute = value.is("attribute");
    const Node key = value.field(is_attribute ? "attribute" : "subscript");
    if (!is_attribute && !key.is("string")) {
      return {};
    }
    keys.emplace_back(is_attribute ? content.text_of(key) : without_quotes(content.text_of(key)));
    value = value.field(is_attribute ? "object" : "value");
  }
  std::ranges::reverse(keys);
  return value.is("identifier") && content.text_of(value) == config ? keys : std::vector<std::string>();
}

std::string_view without_comment(std::string_view line) {
  const std::size_t hash = line.find(" #");
  line = line.substr(0, line.starts_with('#') ? 0 : hash);
  const std::size_t last = line.find_last_not_of(" \t\r");
  return line.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

/// Calls `visit(line without comment, offset)` for each line with something in it, until that says true.
template <typename Visit>
void for_each_line(std::string_view text, Visit visit) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = without_comment(text.substr(begin, end - begin));
    if (line.find_first_not_of(' ') != std::string_view::npos && visit(line, begin)) {
      return;
    }
    begin = end + 1;
  }
}

std::optional<BatchSize> number_at(std::string_view yaml, Span span) {
  std::string digits(slice(yaml, span));
  const bool is_grouped = base::contains(digits, "_");
  std::erase(digits, '_');
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, value);
  return read.ec == std::errc() && read.ptr == end
             ? std::optional(BatchSize{BatchSizeObstacle::kNone, span, value, is_grouped})
             : std::nullopt;
}

}  // namespace

std::optional<ConfigSetting> hydra_batch_size(const SourceTree& tree) {
  const Content& content = tree.content();
  const auto main = hydra_main(content);
  const auto script = read_training_script(content);
  if (!main || !script) {
    return std::nullopt;
  }
  std::vector<std::string> keys;
  for (const Node loader : training_loaders(content, *script)) {
    const Node size = argument_or_option(content, *script, loader, "batch_size", 1);
    auto found = size.exists() ? keys_of(content, size, main->config) : std::vector<std::string>();
    if (found.empty() || (!keys.empty() && keys != found)) {
      return std::nullopt;
    }
    keys = std::move(found);
  }
  const std::string name = string_argument(content, main->call, "config_name", 1);
  return keys.empty() || name.empty()
             ? std::nullopt
             : std::optional(ConfigSetting{string_argument(content, main->call, "config_path", 0),
                                           name.ends_with(".yaml") ? name.substr(0, name.size() - 5) : name, keys});
}

std::optional<BatchSize> yaml_number(std::string_view yaml, std::span<const std::string> keys) {
  std::optional<BatchSize> found;
  std::vector<std::size_t> indentation = {0};  // of the keys at each depth that the lines above have led to
  for_each_line(yaml, [&](std::string_view line, std::size_t begin) {
    const std::size_t indent = line.find_first_not_of(' ');
    while (indentation.size() > 1 && indentation.back() != kUnknown && indent < indentation.back()) {
      indentation.pop_back();
    }
    if (indentation.back() == kUnknown) {  // of the first line below a key
      const std::size_t above = indentation[indentation.size() - 2];
      indentation.back() = indent;
      if (indent <= above) {
        indentation.pop_back();
      }
    }
    const std::size_t colon = line.find(':', indent);
    const std::size_t depth = indentation.size() - 1;
    if (indent != indentation.back() || colon == std::string_view::npos ||
        without_quotes(line.substr(indent, colon - indent)) != keys[depth]) {
      return false;
    }
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    if (depth + 1 == keys.size()) {
      found =
          value == std::string_view::npos ? std::nullopt : number_at(yaml, Span{begin + value, begin + line.size()});
      return true;
    }
    if (value == std::string_view::npos) {
      indentation.push_back(kUnknown);
    }
    return false;
  });
  return found;
}

std::string hydra_choice(std::string_view yaml, std::string_view group) {
  std::string choice;
  bool in_defaults = false;
  for_each_line(yaml, [&](std::string_view line, std::size_t /*begin*/) {
    const std::size_t indent = line.find_first_not_of(' ');
    const std::string_view item = line.substr(indent);
    if (indent == 0 && !item.starts_with('-')) {
      in_defaults = item == "defaults:";
      return false;
    }
    const std::size_t colon = item.find(':');
    const std::size_t name = item.find_first_not_of("- ");
    if (in_defaults && item.starts_with('-') && colon != std::string_view::npos && name < colon &&
        item.substr(name, colon - name) == group) {
      const std::size_t value = item.find_first_not_of(' ', colon + 1);
      choice = value == std::string_view::npos ? "" : std::string(without_quotes(item.substr(value)));
      return true;
    }
    return false;
  });
  return choice;
}

}  // namespace ridgeline::source
