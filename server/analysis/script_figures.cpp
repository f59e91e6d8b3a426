#include "analysis/script_figures.h"

#include <algorithm>
#include <cmath>

#include "analysis/attribution/source_scope.h"

namespace ridgeline::analysis {

namespace {

constexpr double kMs = 1e6;    ///< nanoseconds
constexpr double kBusy = 0.9;  ///< part of the time: workers that load less are not what the step waits for
constexpr double kMostWorkers = 1024;

std::optional<double> mean_ms(const protocol::LoadedBatches& loaded) {
  if (loaded.batches == 0 || loaded.ns <= 0) {
    return std::nullopt;
  }
  return loaded.ns / static_cast<double>(loaded.batches) / kMs;
}

/// How many workers load a step's batches while the step does everything else.
std::optional<int> workers_needed(const protocol::LoaderUse& use, const DataLoading& loading) {
  const double rest_ms = use.steps_ns / static_cast<double>(use.steps) / kMs - loading.wait_ms;
  const bool waits_for_loading = loading.workers_busy.value_or(0) >= kBusy;  // without workers, passing on is unknown
  if (loading.wait_share <= kHardlyWaits || !waits_for_loading || !loading.batch_ms.has_value() || rest_ms <= 0) {
    return std::nullopt;
  }
  const double needed = std::ceil(*loading.batch_ms * loading.batches_per_step / rest_ms);
  if (needed > kMostWorkers || needed + use.threads > use.processors || needed <= use.workers) {
    return std::nullopt;
  }
  return static_cast<int>(needed);
}

}  // namespace

std::optional<DataLoading> data_loading(const protocol::LoaderUse& use) {
  if (use.steps == 0 || use.steps_ns <= 0) {
    return std::nullopt;
  }
  const auto steps = static_cast<double>(use.steps);
  DataLoading loading;
  loading.workers = use.workers;
  loading.batches_per_step = static_cast<double>(use.batches) / steps;
  loading.wait_ms = use.wait_ns / steps / kMs;
  loading.wait_share = std::min(1.0, use.wait_ns / use.steps_ns);
  if (use.workers == 0) {
    loading.batch_ms = mean_ms({use.batches, use.wait_ns});
  } else if (use.worker_wall_ns > 0) {
    loading.batch_ms = mean_ms(use.by_workers);
    loading.workers_busy = std::min(1.0, use.by_workers.ns / (use.workers * use.worker_wall_ns));
  }
  loading.workers_needed = workers_needed(use, loading);
  loading.first_pass_batch_ms = mean_ms(use.first_pass);
  loading.later_passes_batch_ms = mean_ms(use.later_passes);
  return loading;
}

Script script_figures(const protocol::ScriptRun& run, const SourceScope& scope) {
  Script script;
  script.step = {run.boundary.end, run.boundary.requested, run.boundary.optimizers, {}};
  if (run.boundary.end == protocol::StepEnd::kLine) {
    script.step.line = {display_path(run.boundary.file, scope), static_cast<std::uint32_t>(run.boundary.line)};
  }
  for (const protocol::ScriptPhase& phase : run.phases) {
    script.between.push_back({phase.name, phase.count, phase.ns / kMs});
  }
  if (run.loading.has_value()) {
    script.loading = data_loading(*run.loading);
  }
  return script;
}

}  // namespace ridgeline::analysis
