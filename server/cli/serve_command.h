// `ridgeline serve`: the daemon that editors talk to. docs/dev/protocol.md.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_serve_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
