// `ridgeline operations train`: estimators for operations that nobody measured, from those that somebody did.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_train_command(CLI::App& operations, int& exit_code);

}  // namespace ridgeline::cli
