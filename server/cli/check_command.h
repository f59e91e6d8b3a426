// `ridgeline check [ENTRY…]`: whether a training step is within the budgets of pyproject.toml.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_check_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
