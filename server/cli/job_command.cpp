#include "cli/job_command.h"

#include "cli/job_collect_command.h"
#include "cli/job_network_command.h"
#include "cli/job_optimize_command.h"
#include "cli/job_predict_command.h"
#include "cli/job_show_command.h"

namespace ridgeline::cli {

void add_job_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "job", "Analyse distributed jobs: find waits, search for faster strategies, predict training on a cluster.");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  ridgeline job show mine.ridgeline-job\n"
      "  ridgeline job predict entry.py --cluster cluster.toml");
  add_job_show_command(*command, exit_code);
  add_job_collect_command(*command, exit_code);
  add_job_optimize_command(*command, exit_code);
  add_job_predict_command(*command, exit_code);
  add_job_network_command(*command, exit_code);
}

}  // namespace ridgeline::cli
