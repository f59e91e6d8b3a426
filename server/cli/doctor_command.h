// `ridgeline doctor [ENTRY]`: what a profile needs, checked part by part, each with its fix.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_doctor_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
