// What was probably meant by a mistyped command or option.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ridgeline::cli {

/// "Did you mean --batch-size?" for the first argument that is no command, or no option of the command; empty when
/// nothing is near it. `arguments` are without the program's name.
std::string suggestion(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace ridgeline::cli
