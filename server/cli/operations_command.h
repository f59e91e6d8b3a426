// `ridgeline operations`: the table of operation times: measured, listed, and shared between machines and people.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_operations_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
