// `ridgeline compare BEFORE AFTER`: what became slower or larger between two profiles, or two revisions.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_compare_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
