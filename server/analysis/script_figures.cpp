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

std::optional<double> varying_throughput(const protocol::ScriptRun& run) {
  const bool vary = run.samples.least != run.samples.most;
  if (!vary || !run.whole.has_value() || run.whole->usual_ns <= 0 || run.whole->usual_samples <= 0) {
    return std::nullopt;
  }
  return run.whole->usual_samples / run.whole->usual_ns * 1e9;
}

namespace {

std::vector<BetweenSteps> phases_of(const std::vector<protocol::ScriptPhase>& phases) {
  std::vector<BetweenSteps> between;
  for (const protocol::ScriptPhase& phase : phases) {
    between.push_back({phase.name, phase.count, phase.ns / kMs});
  }
  return between;
}

WholeTime whole_time(const protocol::WholeTime& whole) {
  WholeTime figures{whole.steps, whole.ns / kMs, std::nullopt, whole.is_whole, phases_of(whole.parts)};
  if (whole.samples > 0 && whole.ns > 0) {
    figures.samples_per_second = whole.samples / whole.ns * 1e9;
  }
  return figures;
}

}  // namespace

Script script_figures(const protocol::ScriptRun& run, const SourceScope& scope) {
  Script script;
  script.step = {run.boundary.end, run.boundary.requested, run.boundary.optimizers, {}};
  if (run.boundary.end == protocol::StepEnd::kLine) {
    script.step.line = {display_path(run.boundary.file, scope), static_cast<std::uint32_t>(run.boundary.line)};
  }
  script.between = phases_of(run.phases);
  if (const protocol::StepSamples& seen = run.samples; seen.steps > 0) {
    script.samples = StepSamples{seen.steps, seen.mean, seen.least, seen.most, seen.doubt};
  }
  if (run.whole.has_value()) {
    script.whole = whole_time(*run.whole);
  }
  for (const protocol::LeftOutSteps& steps : run.left_out) {
    script.left_out.push_back({steps.reason, steps.count, steps.ns / kMs,
                               steps.peak_bytes > 0 ? std::optional(steps.peak_bytes) : std::nullopt});
  }
  if (const protocol::LargestStep& largest = run.largest; largest.steps > 0) {
    script.largest = LargestStep{largest.steps, largest.bytes,
                                 largest.samples > 0 ? std::optional(largest.samples) : std::nullopt, largest.reason};
  }
  if (run.loading.has_value()) {
    script.loading = data_loading(*run.loading);
  }
  return script;
}

}  // namespace ridgeline::analysis
