#include "cli/operation_plan.h"

#include <memory>
#include <string>
#include <vector>

#include "app/measure_operations.h"
#include "app/measuring_script.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/wait_for.h"
#include "report/operation_times.h"

namespace ridgeline::cli {

namespace {

struct PlanOptions {
  std::shared_ptr<app::ProfileRequest> request = std::make_shared<app::ProfileRequest>();
  std::shared_ptr<Output> output = std::make_shared<Output>();
  std::string device;
  std::vector<std::string> changes;
  std::string script;
  double seconds = 600;
};

int plan(const PlanOptions& options) {
  const auto opened = open_entry_runs(*options.request);
  if (!opened) {
    return opened.error();
  }
  EntryRuns& runs = **opened;
  const auto made =
      answer_of(app::plan_operations(runs, {runs.target().project_root, options.changes}, options.device));
  if (!made) {
    return made.error();
  }
  for (const std::string& warning : made->warnings) {
    warn(warning);
  }
  if (!options.script.empty()) {
    const int written = write_out(app::measuring_script(made->plan.missing, options.seconds), {.file = options.script});
    if (written != kExitOk) {
      return written;
    }
  }
  return write_out(options.output->format == "json" ? report::json_measuring_plan(made->plan)
                                                    : report::text_measuring_plan(made->plan, options.script),
                   *options.output);
}

}  // namespace

void add_plan_command(CLI::App& operations, int& exit_code) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = operations.add_subcommand(
      "plan",
      "List the operations of a step that are not yet timed on a device, and estimate how long timing them takes.");
  command
      ->add_option("ENTRY", options->request->entry,
                   "Python file that defines model_provider, input_provider and iteration_provider")
      ->required();
  command->add_option("--device", options->device, "The device, as `operations list` or its driver names it")
      ->required();
  command->add_option("--change", options->changes,
                      "Also list the operations of the step with this change; may be repeated");
  add_file_option(*command, "--script", options->script,
                  "Write a Python file that times them on a machine with Python and torch: it holds shapes only");
  command->add_option("--measure-seconds", options->seconds, "Time limit for the script, in seconds")
      ->check(number_in(1, 86400))
      ->capture_default_str();
  add_place_options(*command, options->request);
  add_timeout_option(*command, options->request);
  add_output_options(*command, options->output);
  command->footer(
      "Examples:\n"
      "  ridgeline operations plan entry.py --device \"NVIDIA A100-SXM4-40GB\"\n"
      "  ridgeline operations plan entry.py --device T4 --script measure_t4.py");
  command->callback([options, &exit_code] { exit_code = plan(*options); });
}

}  // namespace ridgeline::cli
