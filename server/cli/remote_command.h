// `ridgeline remote HOST`: an editor here, the profiles on another machine, by ssh.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_remote_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
