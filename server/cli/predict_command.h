// `ridgeline predict ENTRY`: predicts another batch size, from the stored profile or a new one.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_predict_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
