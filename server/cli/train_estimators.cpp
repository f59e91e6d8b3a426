#include "cli/train_estimators.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "app/profiling/kept_profiles.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/own_estimators.h"
#include "cli/own_operations.h"
#include "cli/profile_now.h"
#include "cli/terminal.h"
#include "operations/device/data_sheets.h"
#include "operations/estimators/across_devices.h"
#include "operations/estimators/groups.h"
#include "operations/estimators/held_out.h"
#include "protocol/shown_text.h"
#include "report/estimators.h"
#include "worker/cache.h"
#include "worker/machine.h"

namespace ridgeline::cli {

namespace {

using operations::DeviceTimes;
using operations::Estimators;
using operations::ListedTime;

struct TrainOptions {
  std::string device;  ///< empty: this machine's processor
  bool across = false;
  std::vector<std::string> test_on{};
  std::string python;
  double held_out = 0.1;
  double share = 1;
  bool without_product = false;
  std::shared_ptr<Output> output = std::make_shared<Output>();
};

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

bool is_test_device(const TrainOptions& options, const operations::Device& device) {
  return std::ranges::any_of(options.test_on,
                             [&](const std::string& name) { return operations::names_device(name, device.name); });
}

/// An error that lists the devices, where --test-on names none of them.
std::optional<base::Error> unknown_test_device(const TrainOptions& options, std::span<const DeviceTimes> all) {
  for (const std::string& name : options.test_on) {
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
std::vector<DeviceTimes> to_scale_from(std::span<const DeviceTimes> all, const TrainOptions& options,
                                       const operations::Device& to) {
  std::vector<DeviceTimes> others;
  std::ranges::copy_if(all, std::back_inserter(others), [&](const DeviceTimes& one) {
    return one.device.name != to.name && !is_test_device(options, one.device);
  });
  const auto rate = [](const operations::Device& device) {
    return std::log(device.levels.back().bytes_per_s->all.value);
  };
  std::ranges::stable_sort(others, {}, [&](const DeviceTimes& one) { return std::abs(rate(one.device) - rate(to)); });
  return others;
}

int train_across(const TrainOptions& options) {
  const auto cache = worker::cache_folder();
  const auto all = times_by_device();
  if (!cache || !all) {
    return fail(cache ? all.error() : cache.error());
  }
  if (const auto problem = unknown_test_device(options, *all)) {
    print_error(problem->message());
    return kExitUsage;
  }
  std::vector<DeviceTimes> training;
  std::vector<DeviceTimes> held_out;
  Estimators made{{}, app::seconds_since_1970(), {}};
  report::TrainingReport report;
  for (const DeviceTimes& one : *all) {
    if (is_test_device(options, one.device)) {
      held_out.push_back(one);
      continue;
    }
    auto [some, rest] = operations::split_rows(one.rows, options.held_out, options.share);
    report.rows += static_cast<int>(some.size());
    made.devices.push_back(one.device.name);
    training.push_back({one.device, std::move(some)});
    held_out.push_back({one.device, std::move(rest)});
  }
  if (training.size() < 2) {
    print_error(
        "Times of at least two GPUs with data sheets are needed. `ridgeline operations list` names the devices.");
    return kExitUsage;
  }
  auto models = train_models(*cache, options.python, !options.without_product, operations::groups_across(training));
  if (!models) {
    return fail(models.error());
  }
  made.models = std::move(*models);
  for (const DeviceTimes& one : held_out) {
    std::ranges::move(operations::errors_across(made, one, to_scale_from(*all, options, one.device)),
                      std::back_inserter(report.across));
  }
  report.devices = made.devices;
  report.models = made.models;
  const std::string text =
      options.output->format == "json" ? report::json_training_across(report) : report::text_training_across(report);
  if (const auto kept = keep_estimators(*cache, std::move(made)); !kept) {
    return fail(kept.error());
  }
  return write_out(text, *options.output);
}

int train(const TrainOptions& options) {
  if (options.across) {
    return train_across(options);
  }
  const auto cache = worker::cache_folder();
  if (!cache) {
    return fail(cache.error());
  }
  const std::string device = options.device.empty() ? worker::processor_name() : options.device;
  auto table = own_operation_table();
  const auto rows = table ? table->rows_on(device) : base::Result<std::vector<ListedTime>>(table.error());
  if (!rows) {
    return fail(rows.error());
  }
  if (rows->empty()) {
    print_error("No operation times of " + device + " are known. `ridgeline operations list` names the devices.");
    return kExitUsage;
  }
  const auto [training, held_out] = operations::split_rows(*rows, options.held_out, options.share);
  const std::vector<operations::TrainingGroup> groups = operations::training_groups(training);
  auto models = train_models(*cache, options.python, !options.without_product, groups);
  if (!models) {
    return fail(models.error());
  }
  const std::int64_t now = app::seconds_since_1970();
  Estimators made{rows->front().conditions, now, std::move(*models)};
  const auto errors = operations::held_out_errors(made, held_out);
  const report::TrainingReport report{made.conditions, static_cast<int>(training.size()), made.models, errors};
  const std::string text =
      options.output->format == "json" ? report::json_training(report) : report::text_training(report);
  if (const auto kept = keep_estimators(*cache, std::move(made)); !kept) {
    return fail(kept.error());
  }
  return write_out(text, *options.output);
}

}  // namespace

void add_train_command(CLI::App& operations, int& exit_code) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command =
      operations.add_subcommand("train", "Train estimators that predict unmeasured operations from measured ones.");
  command->add_option("--device", options->device, "As `operations list` names it; default: this processor");
  CLI::Option* across = command->add_flag("--across-devices", options->across,
                                          "For GPUs without measurements, from all that have a data sheet");
  command
      ->add_option("--test-on", options->test_on,
                   "With --across-devices: a GPU to hold out for testing; may be repeated")
      ->needs(across)
      ->take_all();
  command->add_option("--python", options->python, "Interpreter with torch, which trains")->default_str("detected");
  command->add_option("--hold-out", options->held_out, "Share of the times to hold out for testing")
      ->check(number_in(0.01, 0.9))
      ->capture_default_str();
  command->add_option("--share", options->share, "Share of the other times to train with")
      ->check(number_in(0.001, 1))
      ->capture_default_str();
  command->add_flag("--without-product", options->without_product,
                    "Train without the product-form term, as an ablation");
  add_output_options(*command, options->output);
  command->footer(
      "Examples:\n"
      "  ridgeline operations train --across-devices --test-on H100\n"
      "  ridgeline operations train --device \"Tesla T4\" --hold-out 0.2 --format json");
  command->callback([options, &exit_code] { exit_code = train(*options); });
}

}  // namespace ridgeline::cli
