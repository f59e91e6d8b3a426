// `ridgeline collect`: the files that `ridgeline run --job` wrote on the machines of a job, as one file.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_collect_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
