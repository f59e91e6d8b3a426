// `ridgeline operations import` and `merge`: the times of others.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_import_and_merge_commands(CLI::App& operations, int& exit_code);

}  // namespace ridgeline::cli
