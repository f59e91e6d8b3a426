// `ridgeline operations plan`.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_plan_command(CLI::App& operations, int& exit_code);

}  // namespace ridgeline::cli
