// `ridgeline kernel`: programs for an operation, constructed for this processor, compiled and timed beside torch.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_kernel_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
