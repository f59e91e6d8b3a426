// `ridgeline machine measure`: what this machine's processor can do, measured once; or a GPU's data sheet.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_machine_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
