#include "cli/devices_command.h"

#include <cstdint>
#include <memory>
#include <string>

#include "analysis/prediction/predictor.h"
#include "cli/exit_codes.h"
#include "cli/imported_trace.h"
#include "cli/options.h"
#include "cli/predict_devices.h"
#include "cli/profile_now.h"
#include "cli/terminal.h"

namespace ridgeline::cli {

namespace {

struct DevicesOptions {
  std::shared_ptr<app::ProfileRequest> request = std::make_shared<app::ProfileRequest>();
  std::shared_ptr<Output> output = std::make_shared<Output>();
  DeviceQuestion question;
  std::string step_boundary;  ///< of a trace
};

int run(const DevicesOptions& options) {
  if (looks_like_trace(options.request->entry)) {
    TraceOptions trace;
    trace.trace = options.request->entry;
    trace.project_root = options.request->project_root;
    trace.step_boundary = options.step_boundary;
    return predict_devices_of_trace(trace, options.question, *options.output);
  }
  const DeviceQuestion& question = options.question;
  if (!question.recorded_on.empty() || question.recorded_batch_size > 0 || !options.step_boundary.empty()) {
    print_error("--recorded-on, --recorded-batch-size and --step-boundary need a trace of torch.profiler.");
    return kExitUsage;
  }
  const auto target = find_target_or_report(*options.request);
  if (!target) {
    return target.error().value;
  }
  EntryRuns runs(*options.request, *target);
  return predict_devices(runs, question, *options.output);
}

}  // namespace

void add_devices_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* command = app.add_subcommand(
      "devices", "Predict the time of a step, or of a trace of torch.profiler with shapes, on other devices.");
  DeviceQuestion& question = options->question;
  command->add_option("ENTRY", options->request->entry, "An entry point, or a trace of torch.profiler with shapes")
      ->required();
  command
      ->add_option("--on", question.devices,
                   "Devices, such as a100,h100,t4, or files that describe one; `ridgeline machine show` names the GPUs")
      ->required()
      ->delimiter(',');
  command->add_option("--price", question.prices, "Price of each device in --on for an hour, or one for all")
      ->delimiter(',')
      ->check(number_in(0, 1e9));
  command
      ->add_option("--dataset-size", question.dataset_size, "Samples of an epoch: adds the time and price of an epoch")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 50));
  command->add_option("--cluster", question.cluster,
                      "Also predict data-parallel training on 2, 4, ... up to all ranks of this cluster; runs one step "
                      "for its gradients");
  add_device_option(*command, options->request);
  add_place_options(*command, options->request);
  add_timeout_option(*command, options->request);
  command
      ->add_option("--recorded-on", question.recorded_on,
                   "The GPU of the trace, such as a100, or a file that describes it, needed if the trace names no GPU "
                   "that Ridgeline knows")
      ->group(kOfTraces);
  command->add_option("--recorded-batch-size", question.recorded_batch_size, "Samples of the trace's step")
      ->check(CLI::Range(1, analysis::kMaxBatchSize))
      ->group(kOfTraces);
  add_step_boundary_option(*command, options->step_boundary)->group(kOfTraces);
  add_output_options(*command, options->output);
  add_warnings_option(*command, options->output);
  command->footer(
      "No profile is made: the operations are listed, and timed by data sheets, by tables of times and by estimators.\n"
      "\n"
      "Examples:\n"
      "  ridgeline devices entry.py --on a100,t4 --price 1.10,0.35\n"
      "  ridgeline devices trace.json.gz --on h100 --recorded-on a100");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ridgeline::cli
