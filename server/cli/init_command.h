// `ridgeline init SCRIPT`: writes an entry file for a training script.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_init_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
