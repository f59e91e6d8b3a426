#include "cli/help_format.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

namespace ridgeline::cli {

namespace {

using Names = std::pair<std::string_view, std::string_view>;

/// What stands for the text of these options; of others it is TEXT.
constexpr std::array kTexts = {
    Names{"address", "HOST:PORT"},   Names{"allow", "ENTRY"},
    Names{"batch-sizes", "SIZES"},   Names{"project", "FOLDER"},
    Names{"change", "CHANGE"},       Names{"change-file", "FILE"},
    Names{"cluster", "FILE"},        Names{"code", "PACKAGES"},
    Names{"column", "NAME=COLUMN"},  Names{"description", "FILE"},
    Names{"device", "DEVICE"},       Names{"dtype", "TYPE"},
    Names{"emit", "FILE"},           Names{"emit-folder", "FOLDER"},
    Names{"git", "FROM..TO"},        Names{"host", "HOST"},
    Names{"host-python", "PYTHON"},  Names{"job", "FILE"},
    Names{"junit", "FILE"},          Names{"map", "LOCAL=REMOTE"},
    Names{"network", "FILE"},        Names{"of", "ENTRY"},
    Names{"on", "DEVICES"},          Names{"output", "FILE"},
    Names{"pipe", "PATH"},           Names{"program", "PATH"},
    Names{"project-root", "FOLDER"}, Names{"python", "PYTHON"},
    Names{"ranks", "RANKS"},         Names{"recorded-on", "DEVICE"},
    Names{"script", "FILE"},         Names{"set", "MODULE:ATTRIBUTE=N"},
    Names{"source", "NAME"},         Names{"ssh-option", "OPTION"},
    Names{"step-boundary", "WHERE"}, Names{"test-on", "DEVICE"},
    Names{"token-file", "FILE"},     Names{"torch", "VERSION"},
};

constexpr std::array kSeconds = {"seconds", "timeout", "measure-seconds", "try-seconds", "max-seconds", "idle-exit"};

std::string bare_name(const CLI::Option& option) {
  const auto& names = option.get_lnames();
  return names.empty() ? std::string() : names.front();
}

/// `{text,json}` within a type: `text|json`; empty: it is no choice.
std::string choices(std::string_view type) {
  const std::size_t open = type.find('{');
  const std::size_t close = type.rfind('}');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return "";
  }
  std::string text(type.substr(open + 1, close - open - 1));
  std::ranges::replace(text, ',', '|');
  return text;
}

std::string value_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (std::string choice = choices(type); !choice.empty()) {
    return choice;
  }
  const std::string name = bare_name(option);
  if (type.find("SIZE [") != std::string::npos) {
    return "SIZE";
  }
  if (std::ranges::find(kSeconds, name) != kSeconds.end()) {
    return "SECONDS";
  }
  if (type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("FLOAT")) {
    return "N";
  }
  const auto* const text = std::ranges::find(kTexts, name, &Names::first);
  return text == kTexts.end() ? "TEXT" : std::string(text->second);
}

class HelpFormat final : public CLI::Formatter {
 public:
  HelpFormat() {
    label("SUBCOMMAND", "COMMAND");
    label("Positionals", "Arguments");
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_items_expected_max() == 0) {  // a flag
      return "";
    }
    const bool is_positional = option->get_lnames().empty() && option->get_snames().empty();
    std::string text;
    if (!is_positional) {
      text += " " + value_of(*option);
      text += option->get_default_str().empty() ? "" : " [" + option->get_default_str() + "]";
    }
    const bool repeats = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    return text + (repeats ? " ..." : "");
  }

  /// What follows the options of a command that runs another is not the library's to describe.
  std::string make_usage(const CLI::App* app, std::string name) const override {
    if (!app->get_prefix_command()) {
      return CLI::Formatter::make_usage(app, std::move(name));
    }
    const std::string usage = "Usage: " + name + " [OPTIONS] ";
    const std::string indented = "\n" + std::string(7, ' ') + name + " [OPTIONS] ";
    return usage + "ENTRY [OPTIONS]" + indented + "SCRIPT [ARGUMENTS...]" + indented + "-- COMMAND...\n";
  }

  /// One empty line before each group of options, as before all else.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) {
      text.erase(at, 1);
    }
    return text;
  }

  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_subcommands(app, mode);
    const std::string_view title = "\nSubcommands:\n";
    if (const std::size_t at = text.find(title); at != std::string::npos) {
      text.replace(at, title.size(), "\nCommands:\n");
    }
    return text;
  }

  /// A positional argument is in capitals, as in the line that says how the command is used.
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    if (is_positional) {
      std::ranges::transform(name, name.begin(), [](unsigned char byte) { return std::toupper(byte); });
    }
    return name;
  }
};

}  // namespace

std::shared_ptr<CLI::Formatter> help_format() { return std::make_shared<HelpFormat>(); }

}  // namespace ridgeline::cli
