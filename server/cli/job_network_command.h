// `ridgeline job network`: what messages between processes cost, as the links of a cluster's file.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_job_network_command(CLI::App& job, int& exit_code);

}  // namespace ridgeline::cli
