// `ridgeline optimize`: how a recorded job would be fastest, and the edit for it.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_optimize_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
