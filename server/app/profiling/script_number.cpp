#include "app/profiling/script_number.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>

#include "app/profiling/script_profile.h"
#include "app/profiling/unsaved_text.h"
#include "source/source_tree.h"

namespace ridgeline::app {

namespace {

/// The value that the command gives to the last of the options; nothing: it gives none.
std::optional<std::uint64_t> argument_in(const std::vector<std::string>& command,
                                         std::span<const std::string> options) {
  const std::string mark(1, '\0');  // which no argument has
  const auto marked = with_option(command, options, mark);
  for (std::size_t i = 0; marked.has_value() && i < command.size(); ++i) {
    const std::size_t at = (*marked)[i].find(mark);
    if (at != std::string::npos) {
      std::uint64_t value = 0;
      const char* const end = command[i].data() + command[i].size();
      const auto read = std::from_chars(command[i].data() + at, end, value);
      return read.ec == std::errc() && read.ptr == end ? std::optional(value) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ScriptNumber> script_number(const std::vector<std::string>& command, int batch_size) {
  const bool runs_script = command.size() >= 2 && command[1].ends_with(".py");
  auto text = runs_script ? text_of(script_of(command)) : std::nullopt;
  const auto tree = text ? source::SourceTree::parse(*text) : std::nullopt;
  auto found = tree ? source::find_script_batch_size(*tree) : std::nullopt;
  if (!found.has_value() || !found->size.can_be_edited()) {
    return std::nullopt;
  }
  const bool is_argument = with_option(command, found->options, "").has_value();
  const auto value = is_argument ? argument_in(command, found->options) : found->size.value;
  return value == static_cast<std::uint64_t>(batch_size)
             ? std::optional(ScriptNumber{std::move(*text), std::move(*found)})
             : std::nullopt;
}

base::Task<std::optional<ScriptNumber>> read_script_number(ScriptRunner& runner, std::vector<std::string> command,
                                                           int batch_size) {
  const auto found = std::make_shared<std::optional<ScriptNumber>>();
  auto reading = runner.off_loop(
      [found, command = std::move(command), batch_size] { *found = script_number(command, batch_size); });
  co_await std::move(reading);
  co_return std::move(*found);
}

void set_batch_size(worker::JobOptions& options, const ScriptNumber& number, int batch_size) {
  if (auto command = with_option(options.command, number.found.options, std::to_string(batch_size))) {
    options.command = std::move(*command);
    return;
  }
  const source::Span literal = number.found.size.literal;
  options.script_text = number.text;
  options.script_text.replace(literal.begin, literal.end - literal.begin, std::to_string(batch_size));
}

std::optional<std::vector<std::string>> with_option(std::vector<std::string> command,
                                                    std::span<const std::string> options, const std::string& value) {
  for (std::size_t i = command.size(); i-- > 0;) {
    for (const std::string& option : options) {
      if (command[i].starts_with(option + "=")) {
        command[i] = option + "=" + value;
        return command;
      }
      if (command[i] == option && i + 1 < command.size()) {
        command[i + 1] = value;
        return command;
      }
    }
  }
  return std::nullopt;
}

}  // namespace ridgeline::app
