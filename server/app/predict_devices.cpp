#include "app/predict_devices.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/profiling/what_if_base.h"
#include "jobs/predict/steps_of_ranks.h"
#include "operations/device/data_sheets.h"
#include "operations/device/operation_work.h"

namespace ridgeline::app {

namespace {

using protocol::Experiment;
using CapturedSizes = std::vector<protocol::Captured>;

constexpr double kMostPrice = 1e9;

/// "a100=1.10"; the price may be left out.
base::Result<NamedDevice> priced_device(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  std::error_code problem;
  const bool has_price = equals != std::string::npos && !std::filesystem::is_regular_file(text, problem);
  auto named = named_device(has_price ? text.substr(0, equals) : text);
  if (!named || !has_price) {
    return named;
  }
  const std::string price = text.substr(equals + 1);
  double value = -1;
  const auto [end, code] = std::from_chars(price.data(), price.data() + price.size(), value);
  if (code != std::errc() || end != price.data() + price.size() || !(value >= 0 && value <= kMostPrice)) {
    return base::error("The price of " + text + " is not a number: write a100=1.10.");
  }
  named->price_per_hour = value;
  return named;
}

/// What is known of operations and devices on this machine.
struct KnownTimesOfDevices {
  operations::OperationTable table;
  std::vector<operations::Estimators> estimators;
};

base::Result<KnownTimesOfDevices> known_times(const std::string& cache, std::vector<std::string>& warnings) {
  auto table = operations::OperationTable::open(operation_table_path(cache));
  if (!table) {
    return table.error();
  }
  auto estimators = kept_estimators(cache);
  if (!estimators) {
    warnings.push_back(estimators.error().message());
    estimators = std::vector<operations::Estimators>();
  }
  return KnownTimesOfDevices{std::move(*table), std::move(*estimators)};
}

/// Devices of one kind, and the steps as that kind runs them.
struct ListedKind {
  std::vector<NamedDevice> devices;
  CapturedSizes captured;
};

/// Adds what is known of all of them here. May wait for a disk.
base::Result<void> add_devices(DeviceAnswer& answer, const std::vector<ListedKind>& kinds, const std::string& cache) {
  auto known = known_times(cache, answer.warnings);
  if (!known) {
    return known.error();
  }
  for (const ListedKind& kind : kinds) {
    auto predicted = on_devices(kind.captured, kind.devices, known->table, known->estimators);
    if (!predicted) {
      return predicted.error();
    }
    std::ranges::move(*predicted, std::back_inserter(answer.devices.devices));
  }
  return {};
}

/// The step at its own batch size, and at larger ones, where these can be listed.
base::Task<Answer<CapturedSizes>> capture_sizes(ExperimentRunner& runner, std::string root,
                                                std::optional<int> batch_size, bool for_cuda) {
  const Refusal not_listed = refusal(Cause::kInput, "The operations of the step cannot be listed.");
  const auto has_step = [](const worker::ExperimentFindings& findings) {
    return !findings.captured.empty() && findings.captured.front().step.has_value();
  };
  if (!batch_size.has_value()) {
    auto first = runner.run({.kind = Experiment::Kind::kCapture, .for_cuda = for_cuda});
    const ExperimentOutcome listed = co_await std::move(first);
    if (!listed) {
      co_return FailedProjectRun{listed.error(), root};
    }
    if (!has_step(*listed)) {
      co_return not_listed;
    }
    batch_size = listed->captured.front().batch_size;
  }
  auto capturing =
      runner.run({.kind = Experiment::Kind::kCapture, .changes = larger_batches(*batch_size), .for_cuda = for_cuda});
  ExperimentOutcome findings = co_await std::move(capturing);
  if (!findings) {
    co_return FailedProjectRun{findings.error(), root};
  }
  if (!has_step(*findings)) {
    co_return not_listed;
  }
  co_return std::move(findings->captured);
}

base::Task<Answer<protocol::Replica>> gradients_of(ExperimentRunner& runner, std::string root) {
  auto running = runner.run({.kind = Experiment::Kind::kReplica});
  ExperimentOutcome findings = co_await std::move(running);
  if (!findings) {
    co_return FailedProjectRun{findings.error(), root};
  }
  if (!findings->replica) {
    co_return refusal(Cause::kInput, "The step's gradients could not be found.");
  }
  co_return std::move(*findings->replica);
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

/// The GPU that a trace was recorded on: as the user says, or as the trace names it.
base::Result<NamedDevice> recording_device(const ingest::RecordedStep& step, const std::string& said) {
  if (!said.empty()) {
    return named_device(said);
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

}  // namespace

base::Result<std::vector<NamedDevice>> priced_devices(const std::vector<std::string>& names,
                                                      const std::vector<double>& prices) {
  std::vector<NamedDevice> devices = names.empty() ? all_data_sheets() : std::vector<NamedDevice>();
  for (const std::string& name : names) {
    auto device = priced_device(name);
    if (!device) {
      return device.error();
    }
    devices.push_back(std::move(*device));
  }
  if (prices.size() > 1 && prices.size() != devices.size()) {
    return base::error("Give one --price for all devices, or one for each device in the same order.");
  }
  for (std::size_t i = 0; i < devices.size() && !prices.empty(); ++i) {
    if (!devices[i].price_per_hour.has_value()) {
      devices[i].price_per_hour = prices[prices.size() == 1 ? 0 : i];
    }
  }
  return devices;
}

base::Task<Answer<DeviceAnswer>> predict_devices(ExperimentRunner& runner, std::string entry, std::string project_root,
                                                 std::optional<int> batch_size, DeviceQuestion question) {
  std::vector<ListedKind> kinds;
  for (auto& [are_gpus, devices] : by_kind(question.devices)) {
    auto capturing = capture_sizes(runner, project_root, batch_size, are_gpus);
    auto captured = co_await std::move(capturing);
    if (!captured) {
      co_return captured.error();
    }
    kinds.push_back({std::move(devices), std::move(*captured)});
  }
  const auto answer = std::make_shared<DeviceAnswer>();
  answer->devices = {std::move(entry), kinds.front().captured.front().batch_size, question.dataset_size, {}};
  const auto added = std::make_shared<base::Result<void>>();
  auto adding = runner.off_loop([=, cache = runner.cache()] { *added = add_devices(*answer, kinds, cache); });
  co_await std::move(adding);
  if (!*added) {
    co_return refusal(Cause::kMachine, added->error());
  }
  if (question.cluster.has_value()) {
    auto finding = gradients_of(runner, project_root);
    const auto replica = co_await std::move(finding);
    if (!replica) {
      co_return replica.error();
    }
    const auto on_ranks = add_ranks(answer->devices.devices, answer->devices.batch_size, *replica, *question.cluster);
    if (!on_ranks) {
      co_return refusal(Cause::kRequest,
                        "Training on the cluster cannot be predicted: " + on_ranks.error().message() + ".");
    }
  }
  report::sort_devices(answer->devices);
  co_return std::move(*answer);
}

Answer<DeviceAnswer> predict_devices_of_trace(const std::string& cache, const TracedStep& step,
                                              const DeviceQuestion& question) {
  const auto recorded = recorded_step(step.trace);
  if (!recorded) {
    return recorded.error();
  }
  const auto device = recording_device(*recorded, step.recorded_on);
  if (!device) {
    return refusal(Cause::kRequest, device.error());
  }
  DeviceAnswer answer;
  auto known = known_times(cache, answer.warnings);
  auto predicted = known ? on_devices(listed_step(*recorded, device->device, step.batch_size), question.devices,
                                      known->table, known->estimators)
                         : base::Result<std::vector<report::OtherDevice>>(known.error());
  if (!predicted) {
    return refusal(Cause::kMachine, predicted.error());
  }
  answer.devices = {step.trace.trace, step.batch_size, question.dataset_size, std::move(*predicted),
                    about_recorded(*recorded, *device)};
  report::sort_devices(answer.devices);
  return answer;
}

}  // namespace ridgeline::app
