#include "commands/train_estimators.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "commands/exit_codes.h"
#include "commands/options.h"
#include "commands/own_operations.h"
#include "commands/profile_now.h"
#include "commands/terminal.h"
#include "commands/work_folder.h"
#include "estimate/estimator_file.h"
#include "estimate/groups.h"
#include "estimate/held_out.h"
#include "profiling/kept_profiles.h"
#include "report/estimators.h"
#include "worker/cache.h"
#include "worker/interpreter.h"
#include "worker/machine.h"
#include "worker/program_output.h"

namespace ridgeline::commands {

namespace {

namespace fs = std::filesystem;
using estimate::Estimators;
using operations::ListedTime;

constexpr std::chrono::hours kLimit{2};

struct TrainOptions {
  std::string device;  ///< empty: this machine's processor
  std::string python;
  double held_out = 0.1;
  double share = 1;
  bool without_product = false;
  std::shared_ptr<Output> output = std::make_shared<Output>();
};

std::string estimators_path(const std::string& cache) { return cache + "/estimators.json"; }

base::Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) {
    return base::error(path + " cannot be read");
  }
  return text;
}

base::Result<std::vector<estimate::OperatorModel>> run_trainer(const std::string& cache, const TrainOptions& options,
                                                               const std::vector<estimate::TrainingGroup>& groups) {
  const auto sources = worker::unpack_sources(cache);
  if (!sources) {
    return sources.error();
  }
  const std::string python = worker::find_interpreter_here(options.python).path;
  const WorkFolder folder(cache + "/training-" + base::unique_suffix());
  const std::string plan = estimate::training_plan(groups, !options.without_product).dump();
  if (const auto failed = base::write_atomically(folder.path() + "/plan.json", plan, base::FileAccess::kOwner)) {
    return base::error(folder.path() + "/plan.json" + " cannot be written: " + failed.message());
  }
  const auto line = worker::first_line_of({python, *sources + "/profiler/runner/ridgeline_runner/train_estimators.py",
                                           folder.path() + "/plan.json", folder.path() + "/models.json"},
                                          kLimit);
  if (line != "trained") {
    return base::error("The estimators could not be trained with " + python + ", which needs torch: name another " +
                       "interpreter with --python.");
  }
  const auto models = read_file(folder.path() + "/models.json");
  if (!models) {
    return models.error();
  }
  return estimate::trained_models(*models, groups);
}

/// Replaces those of the same device.
base::Result<void> keep(const std::string& cache, Estimators made) {
  auto all = own_estimators();
  if (!all) {
    warn(all.error().message() + " They are replaced.");
  }
  std::vector<Estimators> kept = all ? std::move(*all) : std::vector<Estimators>();
  std::erase_if(kept, [&](const Estimators& one) { return one.conditions.device == made.conditions.device; });
  kept.push_back(std::move(made));
  if (const auto failed =
          base::write_atomically(estimators_path(cache), estimate::estimators_json(kept), base::FileAccess::kUmask)) {
    return base::error(estimators_path(cache) + " cannot be written: " + failed.message());
  }
  return {};
}

int fail(const base::Error& why) {
  print_error(why.message());
  return kExitEnvironment;
}

int train(const TrainOptions& options) {
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
  const auto [training, held_out] = estimate::split_rows(*rows, options.held_out, options.share);
  const std::vector<estimate::TrainingGroup> groups = estimate::training_groups(training);
  auto models = run_trainer(*cache, options, groups);
  if (!models) {
    return fail(models.error());
  }
  const std::int64_t now = profiling::seconds_since_1970(std::chrono::system_clock::now());
  Estimators made{rows->front().conditions, now, std::move(*models)};
  const auto errors = estimate::held_out_errors(made, held_out);
  const report::TrainingReport report{made.conditions, static_cast<int>(training.size()), made.models, errors};
  const std::string text =
      options.output->format == "json" ? report::json_training(report) : report::text_training(report);
  if (const auto kept = keep(*cache, std::move(made)); !kept) {
    return fail(kept.error());
  }
  return write_out(text, *options.output);
}

}  // namespace

base::Result<std::vector<Estimators>> own_estimators() {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return cache.error();
  }
  const std::string path = estimators_path(*cache);
  std::error_code problem;
  if (!fs::exists(path, problem)) {
    return std::vector<Estimators>();
  }
  const auto text = read_file(path);
  return text ? estimate::parse_estimators(*text, path) : base::Result<std::vector<Estimators>>(text.error());
}

void add_train_command(CLI::App& operations, int& exit_code) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = operations.add_subcommand(
      "train", "Train estimators for operations of a device that are not measured, from those that are.");
  command->add_option("--device", options->device, "As `operations list` names it; default: this processor");
  command->add_option("--python", options->python, "Interpreter with torch, which trains")->default_str("found");
  command->add_option("--hold-out", options->held_out, "Share of the times that only test the estimators")
      ->check(number_in(0.01, 0.9))
      ->capture_default_str();
  command->add_option("--share", options->share, "Share of the other times to train with")
      ->check(number_in(0.001, 1))
      ->capture_default_str();
  command->add_flag("--without-product", options->without_product, "Leave the product form out, to see what it brings");
  add_output_options(*command, options->output);
  command->footer(
      "Examples:\n"
      "  ridgeline operations train\n"
      "  ridgeline operations train --device \"Tesla T4\" --hold-out 0.2 --format json");
  command->callback([options, &exit_code] { exit_code = train(*options); });
}

}  // namespace ridgeline::commands
