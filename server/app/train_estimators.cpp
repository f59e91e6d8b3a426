#include "app/train_estimators.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "app/own_operations.h"
#include "app/profiling/kept_profiles.h"
#include "app/profiling/step_on_devices.h"
#include "base/file.h"
#include "base/work_folder.h"
#include "operations/device/data_sheets.h"
#include "operations/estimators/across_devices.h"
#include "operations/estimators/estimator_file.h"
#include "operations/estimators/groups.h"
#include "operations/estimators/held_out.h"
#include "protocol/shown_text.h"
#include "worker/cache.h"
#include "worker/interpreter.h"
#include "worker/machine.h"
#include "worker/program_output.h"

namespace ridgeline::app {

namespace {

using operations::DeviceTimes;
using operations::Estimators;
using operations::ListedTime;
using operations::TrainingGroup;

constexpr std::chrono::hours kTrainingLimit{2};

base::Result<std::vector<operations::OperatorModel>> train_models(const std::string& cache, const TrainRequest& request,
                                                                  std::span<const TrainingGroup> groups) {
  const auto program = worker::runner_file(cache, "measure/train_estimators.py");
  if (!program) {
    return program.error();
  }
  const std::string python = worker::find_interpreter_here(request.python).path;
  const base::WorkFolder folder(cache + "/training-");
  const std::string plan = operations::training_plan(groups, !request.without_product).dump();
  if (const auto failed = base::write_atomically(folder.path() + "/plan.json", plan, base::FileAccess::kOwner,
                                                 base::Durability::kNone)) {
    return base::error(folder.path() + "/plan.json" + " cannot be written: " + failed.message());
  }
  const auto line = worker::first_line_of(
      {python, *program, folder.path() + "/plan.json", folder.path() + "/models.json"}, kTrainingLimit);
  if (line != "trained") {
    return base::error("The estimators could not be trained with " + python + ", which needs torch: name another " +
                       "interpreter with --python.");
  }
  const auto models = base::read_text(folder.path() + "/models.json", operations::kMaxEstimatorBytes);
  if (!models) {
    return models.error();
  }
  return operations::trained_models(*models, groups);
}

/// Adds them to the others. A warning, mostly empty, where those could not be read.
base::Result<std::string> keep_estimators(const std::string& cache, Estimators made) {
  auto all = kept_estimators(cache);
  std::string warning = all ? "" : all.error().message() + " They are replaced.";
  std::vector<Estimators> kept = all ? std::move(*all) : std::vector<Estimators>();
  std::erase_if(kept, [&](const Estimators& one) { return one.conditions.device == made.conditions.device; });
  kept.push_back(std::move(made));
  const std::string path = kept_estimators_path(cache);
  if (const auto failed = base::write_atomically(path, operations::estimators_json(kept), base::FileAccess::kUmask)) {
    return base::error(path + " cannot be written: " + failed.message());
  }
  return warning;
}

/// The training, once what was trained is kept.
Answer<Training> keep_training(const std::string& cache, Estimators made, report::TrainingReport report) {
  auto warning = keep_estimators(cache, std::move(made));
  if (!warning) {
    return refusal(Cause::kMachine, warning.error());
  }
  return Training{std::move(report), std::move(*warning)};
}

/// The times on all GPUs in the table that have a data sheet, in order of keys.
base::Result<std::vector<DeviceTimes>> times_by_device() {
  auto table = own_operation_table();
  const auto names = table ? table->devices() : base::Result<std::vector<std::string>>(table.error());
  if (!names) {
    return names.error();
  }
  std::vector<DeviceTimes> all;
  for (const std::string& name : *names) {
    auto sheet = operations::find_data_sheet(name);
    if (!sheet) {
      continue;
    }
    auto rows = table->rows_on(name);
    if (!rows) {
      return rows.error();
    }
    std::ranges::sort(*rows, {}, [](const ListedTime& row) -> const std::string& { return row.time.key; });
    all.push_back({std::move(*sheet), std::move(*rows)});
  }
  return all;
}

bool is_test_device(const TrainRequest& request, const operations::Device& device) {
  return std::ranges::any_of(request.test_on,
                             [&](const std::string& name) { return operations::names_device(name, device.name); });
}

/// An error that lists the devices, where --test-on names none of them.
std::optional<base::Error> unknown_test_device(const TrainRequest& request, std::span<const DeviceTimes> all) {
  for (const std::string& name : request.test_on) {
    if (std::ranges::any_of(all,
                            [&](const DeviceTimes& one) { return operations::names_device(name, one.device.name); })) {
      continue;
    }
    std::string names;
    for (const DeviceTimes& one : all) {
      names += (names.empty() ? "" : ", ") + one.device.name;
    }
    return base::error(fmt::format(
        "--test-on {}: there are no times of it. {}", protocol::printable(name),
        names.empty() ? "There are none of any GPU with a data sheet." : "There are times of " + names + "."));
  }
  return std::nullopt;
}

/// The devices other than `to`, the one whose memory is most alike in speed first.
std::vector<DeviceTimes> to_scale_from(std::span<const DeviceTimes> all, const TrainRequest& request,
                                       const operations::Device& to) {
  std::vector<DeviceTimes> others;
  std::ranges::copy_if(all, std::back_inserter(others), [&](const DeviceTimes& one) {
    return one.device.name != to.name && !is_test_device(request, one.device);
  });
  const auto rate = [](const operations::Device& device) {
    return std::log(device.levels.back().bytes_per_s->all.value);
  };
  std::ranges::stable_sort(others, {}, [&](const DeviceTimes& one) { return std::abs(rate(one.device) - rate(to)); });
  return others;
}

/// Times for training, by device; the others, for tests.
struct SplitTimes {
  std::vector<DeviceTimes> training;
  std::vector<DeviceTimes> held_out;
};

SplitTimes split_times(const std::vector<DeviceTimes>& all, const TrainRequest& request) {
  SplitTimes split;
  for (const DeviceTimes& one : all) {
    if (is_test_device(request, one.device)) {
      split.held_out.push_back(one);
      continue;
    }
    auto [some, rest] = operations::split_rows(one.rows, request.held_out, request.share);
    split.training.push_back({one.device, std::move(some)});
    split.held_out.push_back({one.device, std::move(rest)});
  }
  return split;
}

Answer<Training> train_across_devices(const std::string& cache, const TrainRequest& request) {
  const auto all = times_by_device();
  if (!all) {
    return refusal(Cause::kMachine, all.error());
  }
  if (const auto problem = unknown_test_device(request, *all)) {
    return refusal(Cause::kRequest, *problem);
  }
  const SplitTimes split = split_times(*all, request);
  if (split.training.size() < 2) {
    return refusal(
        Cause::kRequest,
        "Times of at least two GPUs with data sheets are needed. `ridgeline operations list` names the devices.");
  }
  auto models = train_models(cache, request, operations::groups_across_devices(split.training));
  if (!models) {
    return refusal(Cause::kMachine, models.error());
  }
  Estimators made{{}, seconds_since_1970(), std::move(*models)};
  report::TrainingReport report;
  for (const DeviceTimes& one : split.training) {
    made.devices.push_back(one.device.name);
    report.rows += static_cast<int>(one.rows.size());
  }
  for (const DeviceTimes& one : split.held_out) {
    std::ranges::move(operations::errors_across_devices(made, one, to_scale_from(*all, request, one.device)),
                      std::back_inserter(report.across));
  }
  report.devices = made.devices;
  report.models = made.models;
  return keep_training(cache, std::move(made), std::move(report));
}

Answer<Training> train_on_one(const std::string& cache, const TrainRequest& request) {
  const std::string device = request.device.empty() ? worker::processor_name() : request.device;
  auto table = own_operation_table();
  const auto rows = table ? table->rows_on(device) : base::Result<std::vector<ListedTime>>(table.error());
  if (!rows) {
    return refusal(Cause::kMachine, rows.error());
  }
  if (rows->empty()) {
    return refusal(Cause::kRequest,
                   "No operation times of " + device + " are known. `ridgeline operations list` names the devices.");
  }
  const auto [training, held_out] = operations::split_rows(*rows, request.held_out, request.share);
  auto models = train_models(cache, request, operations::training_groups(training));
  if (!models) {
    return refusal(Cause::kMachine, models.error());
  }
  Estimators made{rows->front().conditions, seconds_since_1970(), std::move(*models)};
  report::TrainingReport report{made.conditions, static_cast<int>(training.size()), made.models,
                                operations::held_out_errors(made, held_out)};
  return keep_training(cache, std::move(made), std::move(report));
}

}  // namespace

Answer<Training> train_estimators(const TrainRequest& request) {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return refusal(Cause::kMachine, cache.error());
  }
  return request.across ? train_across_devices(*cache, request) : train_on_one(*cache, request);
}

}  // namespace ridgeline::app
