#include "cli/train_command.h"

#include <memory>
#include <string>

#include "app/train_estimators.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "report/estimators.h"

namespace ridgeline::cli {

namespace {

std::string rendered(const report::TrainingReport& report, bool across, const std::string& format) {
  if (format == "json") {
    return across ? report::json_training_across_devices(report) : report::json_training(report);
  }
  return across ? report::text_training_across_devices(report) : report::text_training(report);
}

int train(const app::TrainRequest& request, const Output& output) {
  const auto training = app::train_estimators(request);
  if (!training) {
    return report_failure(training.error());
  }
  warn(training->warning);
  return write_out(rendered(training->report, request.across, output.format), output);
}

}  // namespace

void add_train_command(CLI::App& operations, int& exit_code) {
  auto options = std::make_shared<app::TrainRequest>();
  auto output = std::make_shared<Output>();
  CLI::App* command =
      operations.add_subcommand("train", "Train estimators that predict unmeasured operations from measured ones.");
  command->add_option("--device", options->device, "Device, as `operations list` names it; default: this processor");
  CLI::Option* across = command->add_flag(
      "--across-devices", options->across,
      "Train estimators for GPUs without measurements, from the times of all GPUs that have a data sheet");
  command
      ->add_option("--test-on", options->test_on,
                   "With --across-devices: a GPU to hold out for testing; may be repeated")
      ->needs(across)
      ->take_all();
  command->add_option("--python", options->python, "Interpreter whose torch does the training")
      ->default_str("detected");
  command->add_option("--hold-out", options->held_out, "Share of the times to hold out for testing")
      ->check(number_in(0.01, 0.9))
      ->capture_default_str();
  command->add_option("--share", options->share, "Share of the other times to train with")
      ->check(number_in(0.001, 1))
      ->capture_default_str();
  command->add_flag("--without-product", options->without_product,
                    "Train without the product-form term, as an ablation");
  add_output_options(*command, output);
  command->footer(
      "Examples:\n"
      "  ridgeline operations train --across-devices --test-on H100\n"
      "  ridgeline operations train --device \"Tesla T4\" --hold-out 0.2 --format json");
  command->callback([options, output, &exit_code] { exit_code = train(*options, *output); });
}

}  // namespace ridgeline::cli
