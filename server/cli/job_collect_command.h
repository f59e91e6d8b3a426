// `ridgeline job collect`: the files that `ridgeline profile --job` wrote on the machines of a job, as one file.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_job_collect_command(CLI::App& job, int& exit_code);

}  // namespace ridgeline::cli
