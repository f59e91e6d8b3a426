// `ridgeline predict ENTRY`: predicts another batch size, from the kept profile or a new one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ridgeline::cli {

/// `after_dashes`: what take_command_to_run() gave: the arguments of a script.
void add_predict_command(CLI::App& app, int& exit_code, const std::vector<std::string>& after_dashes);

}  // namespace ridgeline::cli
