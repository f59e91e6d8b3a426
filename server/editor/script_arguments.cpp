#include "editor/script_arguments.h"

#include "app/profiling/script_number.h"

namespace ridgeline::editor {

std::optional<std::vector<std::string>> arguments_with(const Entry* own, std::span<const std::string> options,
                                                       const std::string& value) {
  if (own == nullptr || own->script == nullptr || own->script->command.empty()) {
    return std::nullopt;
  }
  const std::vector<std::string>& command = own->script->command;  // the script comes first
  return app::with_option({command.begin() + 1, command.end()}, options, value);
}

}  // namespace ridgeline::editor
