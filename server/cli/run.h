// `ridgeline run`: a training script as it is, under any launcher.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ridgeline::cli {

/// Removes from the arguments of `ridgeline run` and `guard` what follows the first "--", which no option is looked for
/// in.
std::vector<std::string> take_command_to_run(int& argc, char** argv);

/// `after_dashes`: what take_command_to_run() gave.
void add_run_command(CLI::App& app, int& exit_code, const std::vector<std::string>& after_dashes);

}  // namespace ridgeline::cli
