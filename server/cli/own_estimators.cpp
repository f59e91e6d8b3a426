#include "cli/own_estimators.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/profiling/step_on_devices.h"
#include "base/file.h"
#include "cli/profile_now.h"
#include "cli/terminal.h"
#include "cli/work_folder.h"
#include "operations/estimators/estimator_file.h"
#include "worker/cache.h"
#include "worker/interpreter.h"
#include "worker/program_output.h"

namespace ridgeline::cli {

namespace {

using operations::Estimators;
using operations::TrainingGroup;

constexpr std::chrono::hours kTrainingLimit{2};

}  // namespace

base::Result<std::vector<Estimators>> own_estimators() {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return cache.error();
  }
  return app::kept_estimators(*cache);
}

base::Result<std::vector<operations::OperatorModel>> train_models(const std::string& cache,
                                                                  const std::string& python_name, bool with_product,
                                                                  std::span<const TrainingGroup> groups) {
  const auto sources = worker::unpack_sources(cache);
  if (!sources) {
    return sources.error();
  }
  const std::string python = worker::find_interpreter_here(python_name).path;
  const WorkFolder folder(cache + "/training-" + base::unique_suffix());
  const std::string plan = operations::training_plan(groups, with_product).dump();
  if (const auto failed = base::write_atomically(folder.path() + "/plan.json", plan, base::FileAccess::kOwner,
                                                 base::Durability::kNone)) {
    return base::error(folder.path() + "/plan.json" + " cannot be written: " + failed.message());
  }
  const auto line =
      worker::first_line_of({python, *sources + "/profiler/runner/ridgeline_runner/measure/train_estimators.py",
                             folder.path() + "/plan.json", folder.path() + "/models.json"},
                            kTrainingLimit);
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

base::Result<void> keep_estimators(const std::string& cache, Estimators made) {
  auto all = own_estimators();
  if (!all) {
    warn(all.error().message() + " They are replaced.");
  }
  std::vector<Estimators> kept = all ? std::move(*all) : std::vector<Estimators>();
  std::erase_if(kept, [&](const Estimators& one) { return one.conditions.device == made.conditions.device; });
  kept.push_back(std::move(made));
  const std::string path = app::kept_estimators_path(cache);
  if (const auto failed = base::write_atomically(path, operations::estimators_json(kept), base::FileAccess::kUmask)) {
    return base::error(path + " cannot be written: " + failed.message());
  }
  return {};
}

}  // namespace ridgeline::cli
