// `ridgeline job optimize`: how a recorded job would be fastest, and the edit for it.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_job_optimize_command(CLI::App& job, int& exit_code);

}  // namespace ridgeline::cli
