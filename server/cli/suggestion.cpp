#include "cli/suggestion.h"

#include <algorithm>
#include <string_view>

#include "base/similarity.h"

namespace ridgeline::cli {

namespace {

/// The nearest of the words, as a question; empty when one of them is the word itself, or none is near.
std::string question(std::string_view word, const std::vector<std::string>& known, const std::string& prefix) {
  double best = 0;
  std::string_view nearest;
  for (const std::string& one : known) {
    if (const double alike = base::similarity(word, one); alike > best) {
      best = alike;
      nearest = one;
    }
  }
  return best < base::kLeastSimilarity || nearest == word ? "" : "Did you mean " + prefix + std::string(nearest) + "?";
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  const auto is_shown = [](const CLI::App* one) { return !one->get_group().empty(); };
  for (const CLI::App* command : app.get_subcommands(is_shown)) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options([](const CLI::Option*) { return true; })) {
    std::ranges::copy(option->get_lnames(), std::back_inserter(names));
  }
  return names;
}

}  // namespace

std::string suggestion(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  std::string prefix = "ridgeline ";
  auto argument = arguments.begin();
  for (; argument != arguments.end(); ++argument) {
    const std::vector<std::string> commands = commands_of(*command);
    if (std::ranges::find(commands, *argument) == commands.end()) {
      break;
    }
    command = command->get_subcommand(*argument);
    prefix += *argument + ' ';
  }
  if (argument == arguments.end()) {
    return {};
  }
  if (const auto commands = commands_of(*command); !commands.empty()) {
    return argument->starts_with('-') ? "" : question(*argument, commands, prefix);
  }
  const std::vector<std::string> options = options_of(*command);
  for (; argument != arguments.end() && *argument != "--"; ++argument) {
    if (!argument->starts_with("--")) {
      continue;
    }
    const std::string_view name = std::string_view(*argument).substr(2, argument->find('=') - 2);
    if (std::string meant = question(name, options, "--"); !meant.empty()) {
      return meant;
    }
  }
  return {};
}

}  // namespace ridgeline::cli
