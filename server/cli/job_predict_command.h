// `ridgeline job predict ENTRY --cluster FILE`: a job of several ranks, predicted from one process.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_job_predict_command(CLI::App& job, int& exit_code);

}  // namespace ridgeline::cli
