#include "commands/predict_devices.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/result.h"
#include "commands/exit_codes.h"
#include "commands/operation_times.h"
#include "commands/own_estimators.h"
#include "commands/own_operations.h"
#include "commands/profile_now.h"
#include "commands/terminal.h"
#include "estimate/device_prediction.h"
#include "hardware/data_sheets.h"
#include "operations/time_csv.h"
#include "operations/times_on_device.h"
#include "profiling/batch_changes.h"
#include "profiling/known_device.h"
#include "report/other_devices.h"

namespace ridgeline::commands {

namespace {

using estimate::Estimators;
using estimate::ListedStep;
using protocol::Experiment;

constexpr int kMostBatchSize = 1 << 24;

struct Described {
  hardware::Device device;
  std::string origin;
};

base::Result<Described> describe(const std::string& name) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(name, problem)) {
    if (auto sheet = hardware::find_data_sheet(name)) {
      return Described{std::move(*sheet), "data sheet"};
    }
    return base::error("No device is called " + name + ". Name one of " + hardware::data_sheet_names() +
                       ", or a file that describes one (ridgeline device --help).");
  }
  auto device = profiling::read_device(name);
  if (!device) {
    return device.error();
  }
  return Described{std::move(*device), "file " + name};
}

ListedStep listed_step(const protocol::Captured& captured, const std::string& device_type) {
  ListedStep step{.batch_size = captured.batch_size};
  for (const std::uint64_t peak : captured.peak_bytes) {
    step.peak_bytes = std::max(step.peak_bytes, peak);
  }
  std::map<int, int> counts;
  for (const protocol::CapturedOperation& operation : captured.step->operations) {
    if (operation.key < 0) {
      ++step.not_listed;
    } else {
      ++counts[operation.key];
    }
  }
  for (const auto& [key, count] : counts) {
    step.operations.push_back(
        {operations::key_on(captured.step->keys[static_cast<std::size_t>(key)], device_type), count});
  }
  return step;
}

/// Of the newest that somebody trained for a device of that name.
const Estimators* find_estimators(const std::vector<Estimators>& all, const std::string& name) {
  const auto found = std::ranges::find_if(all, [&](const Estimators& one) {
    return one.devices.empty() && hardware::names_device(one.conditions.device, name);
  });
  return found == all.end() ? nullptr : &*found;
}

/// Those across devices.
const Estimators* find_across(const std::vector<Estimators>& all) {
  const auto found = std::ranges::find_if(all, [](const Estimators& one) { return !one.devices.empty(); });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> keys_of(const ListedStep& step) {
  std::vector<std::string> keys;
  for (const estimate::CountedOperation& operation : step.operations) {
    keys.push_back(operation.key);
  }
  return keys;
}

base::Result<report::OtherDevice> predict_device(const Described& described, std::optional<double> price,
                                                 const std::vector<protocol::Captured>& captured,
                                                 operations::OperationTable& table,
                                                 const std::vector<Estimators>& estimators) {
  const std::string type = described.device.kind == hardware::DeviceKind::kGpu ? "cuda" : "cpu";
  report::OtherDevice predicted{described.device.name, described.origin, price, {}};
  for (const protocol::Captured& one : captured) {
    if (!one.step) {
      continue;
    }
    const ListedStep step = listed_step(one, type);
    const auto measured = operations::times_on_device(table, described.device.name, keys_of(step));
    if (!measured) {
      return measured.error();
    }
    predicted.steps.push_back(
        estimate::step_on_device(step, described.device, *measured,
                                 {find_estimators(estimators, described.device.name), find_across(estimators)}));
  }
  std::ranges::sort(predicted.steps, {}, &estimate::StepOnDevice::batch_size);
  return predicted;
}

/// The step at its own batch size, and at the double, the fourfold and the eightfold, where these can be listed.
base::Result<std::vector<protocol::Captured>, ExitCode> capture_sizes(const profiling::ProfileRequest& request,
                                                                      const profiling::Target& target) {
  auto first = run_experiment(request, target, {.kind = Experiment::Kind::kCapture});
  if (!first) {
    return first.error();
  }
  if (first->captured.empty() || !first->captured.front().step) {
    print_error("The operations of the step cannot be listed.");
    return ExitCode{kExitEntryFailed};
  }
  std::vector<protocol::ChangeRequest> sizes;
  const int size = first->captured.front().batch_size;
  for (int times = 2; times <= 8 && size > 0 && size <= kMostBatchSize / times; times *= 2) {
    sizes.push_back(profiling::batch_size_change(size * times));
  }
  auto all = run_experiment(request, target, {.kind = Experiment::Kind::kCapture, .changes = sizes});
  return all ? base::Result<std::vector<protocol::Captured>, ExitCode>(std::move(all->captured)) : all.error();
}

int fail(const base::Error& why, int code) {
  print_error(why.message());
  return code;
}

}  // namespace

int predict_devices(const profiling::ProfileRequest& request, const profiling::Target& target,
                    const DeviceQuestion& question, const Output& output) {
  std::vector<Described> described;
  for (const std::string& name : question.devices) {
    auto one = describe(name);
    if (!one) {
      return fail(one.error(), kExitUsage);
    }
    described.push_back(std::move(*one));
  }
  if (question.prices.size() > 1 && question.prices.size() != described.size()) {
    return fail(base::error("Give one --price for all devices, or one for each device in the same order."), kExitUsage);
  }
  auto table = own_operation_table();
  if (!table) {
    return fail(table.error(), kExitEnvironment);
  }
  auto estimators = own_estimators();
  if (!estimators) {
    warn(estimators.error().message());
    estimators = std::vector<Estimators>();
  }
  const auto captured = capture_sizes(request, target);
  if (!captured) {
    return captured.error().value;
  }
  report::OtherDevices answer{request.entry, captured->front().batch_size, question.dataset_size, {}};
  for (std::size_t i = 0; i < described.size(); ++i) {
    std::optional<double> price;
    if (!question.prices.empty()) {
      price = question.prices[question.prices.size() == 1 ? 0 : i];
    }
    auto predicted = predict_device(described[i], price, *captured, *table, *estimators);
    if (!predicted) {
      return fail(predicted.error(), kExitEnvironment);
    }
    answer.devices.push_back(std::move(*predicted));
  }
  report::sort_devices(answer);
  return write_out(output.format == "json" ? report::json_other_devices(answer) : report::text_other_devices(answer),
                   output);
}

}  // namespace ridgeline::commands
