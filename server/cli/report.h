// `ridgeline report PROFILE`: a profile that was made before, in any format.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_report_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
