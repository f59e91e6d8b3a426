// `ridgeline job`: jobs of several ranks, recorded or to be.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_job_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
