#include "cli/predict_devices.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "app/profiling/step_on_devices.h"
#include "base/result.h"
#include "cli/described_cluster.h"
#include "cli/exit_codes.h"
#include "cli/experiments.h"
#include "cli/failure_text.h"
#include "cli/own_estimators.h"
#include "cli/own_operations.h"
#include "cli/profile_now.h"
#include "cli/terminal.h"
#include "jobs/predict/steps_of_ranks.h"
#include "operations/device/data_sheets.h"
#include "operations/device/operation_work.h"
#include "report/rendered_devices.h"

namespace ridgeline::cli {

namespace {

using app::NamedDevice;
using protocol::Experiment;

/// The step at its own batch size, and at larger ones, where these can be listed.
base::Result<std::vector<protocol::Captured>, ExitCode> capture_sizes(EntryRuns& runs, bool for_cuda) {
  auto first = run_experiment(runs, {.kind = Experiment::Kind::kCapture, .for_cuda = for_cuda});
  if (!first) {
    return first.error();
  }
  if (first->captured.empty() || !first->captured.front().step) {
    print_error("The operations of the step cannot be listed.");
    return ExitCode{kExitEntryFailed};
  }
  auto all = run_experiment(runs, {.kind = Experiment::Kind::kCapture,
                                   .changes = app::larger_batches(first->captured.front().batch_size),
                                   .for_cuda = for_cuda});
  return all ? base::Result<std::vector<protocol::Captured>, ExitCode>(std::move(all->captured)) : all.error();
}

base::Result<std::vector<NamedDevice>> named_devices(const DeviceQuestion& question) {
  std::vector<NamedDevice> named;
  for (const std::string& name : question.devices) {
    auto one = app::named_device(name);
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

/// What is asked about, and what is known of it on this machine.
struct KnownDevices {
  std::vector<NamedDevice> devices;
  operations::OperationTable table;
  std::vector<operations::Estimators> estimators;
};

base::Result<KnownDevices, ExitCode> known_devices(const DeviceQuestion& question) {
  auto devices = named_devices(question);
  if (!devices) {
    return ExitCode{fail(devices.error(), kExitUsage)};
  }
  auto table = own_operation_table();
  if (!table) {
    return ExitCode{fail(table.error(), kExitEnvironment)};
  }
  auto estimators = own_estimators();
  if (!estimators) {
    warn(estimators.error().message());
    estimators = std::vector<operations::Estimators>();
  }
  return KnownDevices{std::move(*devices), std::move(*table), std::move(*estimators)};
}

int write_answer(report::OtherDevices answer, const Output& output) {
  report::sort_devices(answer);
  return write_out(output.format == "json" ? report::json_other_devices(answer) : report::text_other_devices(answer),
                   output);
}

/// The GPU that a trace was recorded on: as the user says, or as the trace names it.
base::Result<NamedDevice> recording_device(const ingest::RecordedStep& step, const std::string& said) {
  if (!said.empty()) {
    return app::named_device(said);
  }
  if (auto sheet = operations::find_data_sheet(step.device)) {
    return NamedDevice{std::move(*sheet), "data sheet"};
  }
  return base::error((step.device.empty() ? std::string("The trace does not say which GPU it was recorded on.")
                                          : "There is no data sheet of the GPU of the trace, " + step.device + ".") +
                     " Name it with --recorded-on: one of " + operations::data_sheet_names() +
                     ", or a file that describes one, as `ridgeline machine show --format json` writes it.");
}

operations::ListedStep listed_step(const ingest::RecordedStep& recorded, const operations::Device& device,
                                   int batch_size) {
  operations::ListedStep step{
      .batch_size = batch_size,
      .recorded_on = operations::RecordedOn{device, recorded.low_ns / recorded.ns, recorded.high_ns / recorded.ns}};
  for (const ingest::RecordedOperation& operation : recorded.operations) {
    step.operations.emplace_back(operation.key.value_or(operation.name), operation.count, operation.ns);
  }
  return step;
}

report::RecordedOnDevice about_recorded(const ingest::RecordedStep& step, const NamedDevice& device) {
  constexpr std::size_t kMostNames = 5;
  report::RecordedOnDevice about{.device = step.device,
                                 .description = device.origin == "data sheet"
                                                    ? fmt::format("data sheet of {}", device.device.name)
                                                    : device.origin,
                                 .has_steps = step.has_steps,
                                 .steps = step.steps,
                                 .ns = step.ns,
                                 .low_ns = step.low_ns,
                                 .high_ns = step.high_ns,
                                 .communication_ns = step.communication_ns,
                                 .transfer_ns = step.transfer_ns};
  for (const ingest::RecordedOperation& operation : step.operations) {
    about.operations += operation.count;
    if (operation.key && operations::work_of(*operation.key)) {
      continue;
    }
    about.not_described += operation.count;
    about.not_described_ns += operation.ns * operation.count;
    if (about.names.size() < kMostNames && std::ranges::find(about.names, operation.name) == about.names.end()) {
      about.names.push_back(operation.name);
    }
  }
  return about;
}

base::Result<protocol::Replica, ExitCode> gradients_of(EntryRuns& runs) {
  auto findings = run_experiment(runs, {.kind = Experiment::Kind::kReplica});
  if (!findings) {
    return findings.error();
  }
  if (!findings->replica) {
    print_error("The step's gradients could not be found.");
    return ExitCode{kExitEntryFailed};
  }
  return std::move(*findings->replica);
}

/// What each device's step takes on several of them.
base::Result<void> add_ranks(std::vector<report::OtherDevice>& devices, int batch_size,
                             const protocol::Replica& replica, const jobs::Cluster& cluster) {
  for (report::OtherDevice& device : devices) {
    const auto own = std::ranges::find(device.steps, batch_size, &operations::StepOnDevice::batch_size);
    if (own == device.steps.end()) {
      continue;
    }
    const auto steps = jobs::steps_of_ranks({own->low_ns, own->high_ns}, replica, cluster);
    if (!steps) {
      return steps.error();
    }
    for (const jobs::StepOfRanks& one : *steps) {
      device.ranks.push_back({one.ranks, one.step.low_ns, one.step.high_ns});
    }
  }
  return {};
}

/// Where a cluster is asked about.
base::Result<void, ExitCode> add_cluster(std::vector<report::OtherDevice>& devices, EntryRuns& runs, int batch_size,
                                         const std::string& file) {
  if (file.empty()) {
    return {};
  }
  const auto described = read_cluster(file);
  if (!described) {
    return ExitCode{fail(described.error(), kExitUsage)};
  }
  const auto replica = gradients_of(runs);
  if (!replica) {
    return replica.error();
  }
  const auto added = add_ranks(devices, batch_size, *replica, *described);
  if (!added) {
    print_error("Training on " + file + " cannot be predicted: " + added.error().message() + ".");
    return ExitCode{kExitUsage};
  }
  return {};
}

}  // namespace

int predict_devices(EntryRuns& runs, const DeviceQuestion& question, const Output& output) {
  auto known = known_devices(question);
  if (!known) {
    return known.error().value;
  }
  report::OtherDevices answer{runs.request().entry, 0, question.dataset_size, {}};
  for (const auto& [are_gpus, devices] : app::by_kind(known->devices)) {
    const auto captured = capture_sizes(runs, are_gpus);
    if (!captured) {
      return captured.error().value;
    }
    auto predicted = app::on_devices(*captured, devices, known->table, known->estimators);
    if (!predicted) {
      return fail(predicted.error(), kExitEnvironment);
    }
    answer.batch_size = captured->front().batch_size;
    std::ranges::move(*predicted, std::back_inserter(answer.devices));
  }
  const auto added = add_cluster(answer.devices, runs, answer.batch_size, question.cluster);
  if (!added) {
    return added.error().value;
  }
  return write_answer(std::move(answer), output);
}

int predict_devices_of_trace(const TraceOptions& trace, const DeviceQuestion& question, const Output& output) {
  if (!question.cluster.empty()) {
    print_error("--cluster needs an entry point: a trace does not tell which gradients there are.");
    return kExitUsage;
  }
  if (question.dataset_size && question.recorded_batch_size == 0) {
    print_error("--dataset-size needs the batch size of the trace: --recorded-batch-size N.");
    return kExitUsage;
  }
  auto known = known_devices(question);
  if (!known) {
    return known.error().value;
  }
  const auto recorded = recorded_step_or_report(trace);
  if (!recorded) {
    return recorded.error().value;
  }
  const auto device = recording_device(*recorded, question.recorded_on);
  if (!device) {
    return fail(device.error(), kExitUsage);
  }
  auto predicted = app::on_devices(listed_step(*recorded, device->device, question.recorded_batch_size), known->devices,
                                   known->table, known->estimators);
  if (!predicted) {
    return fail(predicted.error(), kExitEnvironment);
  }
  return write_answer({trace.trace, question.recorded_batch_size, question.dataset_size, std::move(*predicted),
                       about_recorded(*recorded, *device)},
                      output);
}

}  // namespace ridgeline::cli
