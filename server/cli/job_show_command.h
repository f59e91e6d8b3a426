// `ridgeline job show`: what the ranks of a recorded job waited for, from its files.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_job_show_command(CLI::App& job, int& exit_code);

}  // namespace ridgeline::cli
