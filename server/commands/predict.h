// `ridgeline predict ENTRY`: what another batch size would bring, from the stored profile or a new one.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::commands {

void add_predict_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::commands
