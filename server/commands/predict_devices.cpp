#include "commands/predict_devices.h"

#include <utility>

#include "base/result.h"
#include "commands/exit_codes.h"
#include "commands/operation_times.h"
#include "commands/own_estimators.h"
#include "commands/own_operations.h"
#include "commands/profile_now.h"
#include "commands/terminal.h"
#include "profiling/other_devices.h"
#include "report/other_devices.h"

namespace ridgeline::commands {

namespace {

using profiling::NamedDevice;
using protocol::Experiment;

/// The step at its own batch size, and at larger ones, where these can be listed.
base::Result<std::vector<protocol::Captured>, ExitCode> capture_sizes(EntryRuns& runs) {
  auto first = run_experiment(runs, {.kind = Experiment::Kind::kCapture});
  if (!first) {
    return first.error();
  }
  if (first->captured.empty() || !first->captured.front().step) {
    print_error("The operations of the step cannot be listed.");
    return ExitCode{kExitEntryFailed};
  }
  auto all = run_experiment(runs, {.kind = Experiment::Kind::kCapture,
                                   .changes = profiling::larger_batches(first->captured.front().batch_size)});
  return all ? base::Result<std::vector<protocol::Captured>, ExitCode>(std::move(all->captured)) : all.error();
}

base::Result<std::vector<NamedDevice>> named_devices(const DeviceQuestion& question) {
  std::vector<NamedDevice> named;
  for (const std::string& name : question.devices) {
    auto one = profiling::named_device(name);
    if (!one) {
      return one.error();
    }
    named.push_back(std::move(*one));
  }
  const std::vector<double>& prices = question.prices;
  if (prices.size() > 1 && prices.size() != named.size()) {
    return base::error("Give one --price for all devices, or one for each device in the same order.");
  }
  for (std::size_t i = 0; i < named.size() && !prices.empty(); ++i) {
    named[i].price_per_hour = prices[prices.size() == 1 ? 0 : i];
  }
  return named;
}

int fail(const base::Error& why, int code) {
  print_error(why.message());
  return code;
}

}  // namespace

int predict_devices(EntryRuns& runs, const DeviceQuestion& question, const Output& output) {
  const auto devices = named_devices(question);
  if (!devices) {
    return fail(devices.error(), kExitUsage);
  }
  auto table = own_operation_table();
  if (!table) {
    return fail(table.error(), kExitEnvironment);
  }
  auto estimators = own_estimators();
  if (!estimators) {
    warn(estimators.error().message());
    estimators = std::vector<estimate::Estimators>();
  }
  const auto captured = capture_sizes(runs);
  if (!captured) {
    return captured.error().value;
  }
  auto predicted = profiling::on_devices(*captured, *devices, *table, *estimators);
  if (!predicted) {
    return fail(predicted.error(), kExitEnvironment);
  }
  report::OtherDevices answer{runs.request().entry, captured->front().batch_size, question.dataset_size,
                              std::move(*predicted)};
  report::sort_devices(answer);
  return write_out(output.format == "json" ? report::json_other_devices(answer) : report::text_other_devices(answer),
                   output);
}

}  // namespace ridgeline::commands
