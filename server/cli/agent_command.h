// ridgeline agent: the agents that there are, one built by hand, and copies for machines without a compiler.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_agent_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
