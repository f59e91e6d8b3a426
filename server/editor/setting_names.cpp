#include "editor/setting_names.h"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace ridgeline::editor {

namespace {

using Wording = std::pair<std::string_view, std::string_view>;  ///< on the command line, in an editor

constexpr auto kWordings = std::to_array<Wording>({
    {"Name one with --python", "Name one in the setting `python`"},
    {"name another interpreter with --python", "name another interpreter in the setting `python`"},
    {"Raise --timeout", "Raise the setting `timeLimit`"},
    {"or --memory-limit", "or the setting `memoryLimit`"},
    {"raise --memory-limit", "raise the setting `memoryLimit`"},
    {"`ridgeline init` writes a first version of that file", "Ridgeline can write a first version of that file"},
    {"`ridgeline profile` records training steps of a script as it is", "Ridgeline can also profile it as a script"},
    {"Run again with `--device cpu`", "Set `device` to `cpu`"},
    {"`--device cpu` has", "the setting `device`, `cpu`, has"},
    {" (--device cpu)", " (the setting `device` is `cpu`)"},
});

}  // namespace

std::string with_setting_names(std::string message) {
  for (const auto& [option, setting] : kWordings) {
    for (std::size_t at = message.find(option); at != std::string::npos;
         at = message.find(option, at + setting.size())) {
      message.replace(at, option.size(), setting);
    }
  }
  return message;
}

}  // namespace ridgeline::editor
