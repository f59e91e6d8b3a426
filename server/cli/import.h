// `ridgeline import TRACE`.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_import_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
