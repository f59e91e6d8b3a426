// `ridgeline report X`: of a kept profile, a report in JSON, or a trace of another profiler.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::cli {

void add_report_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::cli
