// `ridgeline devices X`: the time of a step, or of a trace, on other devices.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_devices_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
