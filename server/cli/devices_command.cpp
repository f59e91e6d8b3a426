#include "cli/devices_command.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/prediction/predictor.h"
#include "app/jobs/described_cluster.h"
#include "app/predict_devices.h"
#include "app/profiling/entry_check.h"
#include "app/traces/import_file.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/named_entry.h"
#include "cli/options.h"
#include "cli/script_runs.h"
#include "cli/terminal.h"
#include "cli/wait_for.h"
#include "report/rendered_devices.h"
#include "worker/cache.h"

namespace ridgeline::cli {

namespace {

struct DevicesOptions {
  std::shared_ptr<app::ProfileRequest> request = std::make_shared<app::ProfileRequest>();
  std::shared_ptr<Output> output = std::make_shared<Output>();
  std::vector<std::string> devices;
  std::vector<double> prices;
  std::optional<std::int64_t> dataset_size;
  std::string cluster;  ///< its file; empty: none
  // Of a trace:
  std::string recorded_on;
  int recorded_batch_size = 0;
  std::string step_boundary;
  std::shared_ptr<ScriptOptions> script = std::make_shared<ScriptOptions>();
};

/// What stands in the way of the options together; empty: nothing.
std::string options_problem(const DevicesOptions& options, bool is_trace) {
  if (!is_trace) {
    return options.recorded_on.empty() && options.recorded_batch_size == 0 && options.step_boundary.empty()
               ? ""
               : "--recorded-on, --recorded-batch-size and --step-boundary need a trace of torch.profiler.";
  }
  if (!options.cluster.empty()) {
    return "--cluster needs an entry point: a trace does not tell which gradients there are.";
  }
  return options.dataset_size && options.recorded_batch_size == 0
             ? "--dataset-size needs the batch size of the trace: --recorded-batch-size N."
             : "";
}

base::Result<app::DeviceQuestion> question_of(const DevicesOptions& options) {
  auto devices = app::priced_devices(options.devices, options.prices);
  if (!devices) {
    return devices.error();
  }
  app::DeviceQuestion question{std::move(*devices), options.dataset_size};
  if (!options.cluster.empty()) {
    auto cluster = app::read_cluster(options.cluster);
    if (!cluster) {
      return cluster.error();
    }
    question.cluster = std::move(*cluster);
  }
  return question;
}

base::Result<app::DeviceAnswer, ExitCode> predict_of_script(const DevicesOptions& options,
                                                            const app::DeviceQuestion& question) {
  const auto opened = ScriptRuns::open({*options.request, *options.script});
  if (!opened) {
    return opened.error();
  }
  ScriptRuns& runs = **opened;
  runs.announce();
  return answer_of(
      app::predict_devices(runs, options.request->entry, runs.target().project_root, std::nullopt, question));
}

base::Result<app::DeviceAnswer, ExitCode> predict(const DevicesOptions& options, const app::DeviceQuestion& question) {
  const auto opened = open_entry_runs(*options.request);
  if (!opened) {
    return opened.error();
  }
  EntryRuns& runs = **opened;
  return answer_of(
      app::predict_devices(runs, options.request->entry, runs.target().project_root, std::nullopt, question));
}

base::Result<app::DeviceAnswer, ExitCode> predict_of_trace(const DevicesOptions& options,
                                                           const app::DeviceQuestion& question) {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return fail(cache.error());
  }
  app::TracedStep step{{}, options.recorded_on, options.recorded_batch_size};
  step.trace.trace = options.request->entry;
  step.trace.project_root = options.request->project_root;
  step.trace.step_boundary = options.step_boundary;
  auto answer = app::predict_devices_of_trace(*cache, step, question);
  return answer ? base::Result<app::DeviceAnswer, ExitCode>(std::move(*answer)) : report_failure(answer.error());
}

int run(const DevicesOptions& options) {
  if (const auto named = find_named_entry(*options.request); !named) {
    return named.error();
  }
  const bool is_trace = app::looks_like_trace(options.request->entry);
  if (const std::string problem = options_problem(options, is_trace); !problem.empty()) {
    return fail(problem, kExitUsage);
  }
  const bool is_script = !is_trace && app::is_training_script(options.request->entry);
  if (const auto problem = script_options_problem(*options.script, options.request->entry);
      !is_script && !problem.empty()) {
    return fail(problem, kExitUsage);
  }
  if (is_script && !options.cluster.empty()) {
    return fail(
        fmt::format("--cluster needs an entry point, which `ridgeline init {}` writes.", options.request->entry),
        kExitUsage);
  }
  const auto question = question_of(options);
  if (!question) {
    return fail(question.error(), kExitUsage);
  }
  const auto answer = is_trace    ? predict_of_trace(options, *question)
                      : is_script ? predict_of_script(options, *question)
                                  : predict(options, *question);
  if (!answer) {
    return answer.error();
  }
  for (const std::string& warning : answer->warnings) {
    warn(warning);
  }
  return write_out(options.output->format == "json" ? report::json_other_devices(answer->devices)
                                                    : report::text_other_devices(answer->devices),
                   *options.output);
}

}  // namespace

void add_devices_command(CLI::App& app, int& exit_code, const std::vector<std::string>& after_dashes) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* command = app.add_subcommand(
      "devices",
      "Predict the time of a training step, from an entry point, a script, or a trace with shapes, on other devices.");
  command->add_option("ENTRY", options->request->entry, "");
  may_be_left_out(*command,
                  "An entry point, a training script whose arguments follow --, the id of a profile of one, or a trace "
                  "of torch.profiler with shapes");
  command
      ->add_option("--on", options->devices,
                   "Devices, such as a100,h100,t4, or files that describe one, each with the price of an hour if "
                   "you like, as in a100=1.10; `ridgeline machine show` names the GPUs")
      ->default_str("all GPUs with a data sheet")
      ->delimiter(',');
  command->add_option("--price", options->prices, "Price of each device in --on for an hour, or one for all")
      ->delimiter(',')
      ->check(number_in(0, 1e9));
  command->add_option("--dataset-size", options->dataset_size, "Samples per epoch: adds the time and price of an epoch")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 50));
  command->add_option("--cluster", options->cluster,
                      "Also predict data-parallel training on 2, 4, ... up to all ranks of this cluster; runs one step "
                      "for its gradients");
  add_device_option(*command, options->request);
  add_place_options(*command, options->request);
  add_timeout_option(*command, options->request);
  add_script_options(*command, options->script);
  command
      ->add_option("--recorded-on", options->recorded_on,
                   "The GPU of the trace, such as a100, or a file that describes it, needed if the trace names no GPU "
                   "that Ridgeline knows")
      ->group(kOfTraces);
  command->add_option("--recorded-batch-size", options->recorded_batch_size, "Samples per step of the trace")
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
  command->callback([options, after_dashes, &exit_code] {
    options->script->arguments = after_dashes;
    exit_code = run(*options);
  });
}

}  // namespace ridgeline::cli
