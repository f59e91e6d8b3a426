// `ridgeline what-if`: what changes of a step would bring, predicted and, on request, tried.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_what_if_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
