// `ridgeline mcp`: tools for assistants, by the Model Context Protocol.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_mcp_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
