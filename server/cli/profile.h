// `ridgeline profile ENTRY`: profiles an entry point and prints the report.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_profile_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
