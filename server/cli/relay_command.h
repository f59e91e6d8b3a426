// `ridgeline relay`: what `ridgeline remote` starts on the other machine.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

/// Standard input and output lead to the daemon of this user and version, which is started when there is none.
void add_relay_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
