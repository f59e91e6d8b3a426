// `ridgeline job network`: measures what messages between processes cost, and writes the links of a cluster file.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_job_network_command(CLI::App& job, int& exit_code);

}  // namespace ridgeline::cli
