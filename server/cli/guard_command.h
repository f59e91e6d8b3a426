// `ridgeline guard`: what `ridgeline profile` starts to run a command again without changing files. Not for users.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ridgeline::cli {

/// `after_dashes`: what take_command_to_run() gave.
void add_guard_command(CLI::App& app, int& exit_code, const std::vector<std::string>& after_dashes);

}  // namespace ridgeline::cli
