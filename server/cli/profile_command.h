// `ridgeline profile X`: of an entry point, or of a training script or any command as it is.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ridgeline::cli {

/// Removes from the arguments of `ridgeline profile`, `what-if` and `guard` what follows the first "--", which no
/// option is looked for in.
std::vector<std::string> take_command_to_run(int& argc, char** argv);

/// `after_dashes`: what take_command_to_run() gave.
void add_profile_command(CLI::App& app, int& exit_code, const std::vector<std::string>& after_dashes);

}  // namespace ridgeline::cli
