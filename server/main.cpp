// ridgeline: reads the command line and picks a command.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <initializer_list>
#include <string>
#include <vector>

#include "cli/agent_command.h"
#include "cli/check_command.h"
#include "cli/compare_command.h"
#include "cli/devices_command.h"
#include "cli/doctor_command.h"
#include "cli/guard_command.h"
#include "cli/help_format.h"
#include "cli/init_command.h"
#include "cli/job_command.h"
#include "cli/kernel_command.h"
#include "cli/machine_command.h"
#include "cli/mcp_command.h"
#include "cli/operations_command.h"
#include "cli/options.h"
#include "cli/predict_command.h"
#include "cli/profile_command.h"
#include "cli/relay_command.h"
#include "cli/remote_command.h"
#include "cli/report_command.h"
#include "cli/serve_command.h"
#include "cli/suggestion.h"
#include "cli/terminal.h"
#include "cli/what_if_command.h"

int main(int argc, char** argv) {
  using namespace ridgeline::cli;
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write
  try {
    CLI::App app{"Ridgeline shows what each line of a PyTorch training step costs, and predicts other batch sizes."};
    app.name("ridgeline");
    app.formatter(help_format());
    app.set_version_flag("--version", RIDGELINE_VERSION);
    app.require_subcommand(0, 1);
    int exit_code = 0;
    const std::vector<std::string> after_dashes = take_command_to_run(argc, argv);
    // In the order of `ridgeline --help`.
    const auto group = [&](const char* name, std::initializer_list<const char*> commands) {
      for (const char* command : commands) {
        app.get_subcommand(command)->group(name);
      }
    };
    add_profile_command(app, exit_code, after_dashes);
    add_report_command(app, exit_code);
    group("Start here", {"profile", "report"});
    add_predict_command(app, exit_code, after_dashes);
    add_what_if_command(app, exit_code, after_dashes);
    add_devices_command(app, exit_code, after_dashes);
    add_compare_command(app, exit_code);
    add_check_command(app, exit_code);
    group("Predict and compare", {"predict", "what-if", "devices", "compare", "check"});
    add_job_command(app, exit_code);
    group("Jobs of several ranks", {"job"});
    add_machine_command(app, exit_code);
    add_operations_command(app, exit_code);
    add_kernel_command(app, exit_code);
    group("This machine", {"machine", "operations", "kernel"});
    add_serve_command(app, exit_code);
    add_mcp_command(app, exit_code);
    add_remote_command(app, exit_code);
    add_init_command(app, exit_code);
    add_doctor_command(app, exit_code);
    add_agent_command(app, exit_code);
    group("Editors and tools", {"serve", "mcp", "remote", "init", "doctor", "agent"});
    add_relay_command(app, exit_code);
    add_guard_command(app, exit_code, after_dashes);
    take_one_value_each(app);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      const int code = app.exit(error);
      if (code == 0) {
        return 0;
      }
      if (const std::string meant = suggestion(app, {argv + 1, argv + argc}); !meant.empty()) {
        print_error(meant);
      }
      return 2;
    }
    return app.get_subcommands().empty() ? write_out(app.help(), {}) : exit_code;
  } catch (const std::exception& error) {
    print_error(error.what());
    return 70;
  }
}
