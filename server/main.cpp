// ridgeline: reads the command line and picks a command.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <string>
#include <vector>

#include "commands/check.h"
#include "commands/collect.h"
#include "commands/compare.h"
#include "commands/device.h"
#include "commands/doctor.h"
#include "commands/guard.h"
#include "commands/import.h"
#include "commands/init.h"
#include "commands/job.h"
#include "commands/kernel.h"
#include "commands/network.h"
#include "commands/operations.h"
#include "commands/optimize.h"
#include "commands/predict.h"
#include "commands/profile.h"
#include "commands/relay.h"
#include "commands/remote.h"
#include "commands/report.h"
#include "commands/run.h"
#include "commands/serve.h"
#include "commands/suggestion.h"
#include "commands/terminal.h"
#include "commands/what_if.h"

int main(int argc, char** argv) {
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write
  try {
    CLI::App app{"Ridgeline: what each line of a PyTorch training step costs, and what a batch size would bring."};
    app.set_version_flag("--version", RIDGELINE_VERSION);
    app.require_subcommand(1);
    int exit_code = 0;
    const std::vector<std::string> after_dashes = ridgeline::commands::take_command_to_run(argc, argv);
    ridgeline::commands::add_init_command(app, exit_code);
    ridgeline::commands::add_profile_command(app, exit_code);
    ridgeline::commands::add_run_command(app, exit_code, after_dashes);
    ridgeline::commands::add_predict_command(app, exit_code);
    ridgeline::commands::add_what_if_command(app, exit_code);
    ridgeline::commands::add_operations_command(app, exit_code);
    ridgeline::commands::add_job_command(app, exit_code);
    ridgeline::commands::add_collect_command(app, exit_code);
    ridgeline::commands::add_optimize_command(app, exit_code);
    ridgeline::commands::add_device_command(app, exit_code);
    ridgeline::commands::add_kernel_command(app, exit_code);
    ridgeline::commands::add_network_command(app, exit_code);
    ridgeline::commands::add_compare_command(app, exit_code);
    ridgeline::commands::add_check_command(app, exit_code);
    ridgeline::commands::add_import_command(app, exit_code);
    ridgeline::commands::add_report_command(app, exit_code);
    ridgeline::commands::add_serve_command(app, exit_code);
    ridgeline::commands::add_remote_command(app, exit_code);
    ridgeline::commands::add_relay_command(app, exit_code);
    ridgeline::commands::add_guard_command(app, exit_code, after_dashes);
    ridgeline::commands::add_doctor_command(app, exit_code);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      const int code = app.exit(error);
      if (code == 0) {
        return 0;
      }
      if (const std::string meant = ridgeline::commands::suggestion(app, {argv + 1, argv + argc}); !meant.empty()) {
        ridgeline::commands::print_error(meant);
      }
      return 2;
    }
    return exit_code;
  } catch (const std::exception& error) {
    ridgeline::commands::print_error(error.what());
    return 70;
  }
}
