// What a message says to do, for an editor: its settings and commands in place of those of the command line. Pure.
#pragma once

#include <string>

namespace ridgeline::editor {

/// "name another interpreter with --python" → "name another interpreter in the setting `python`", and the like. Only
/// sentences of ours are changed: an exception of the user's may speak of an option of that name.
std::string with_setting_names(std::string message);

}  // namespace ridgeline::editor
