// What a change brings, predicted; and what it brought when it was tried.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "analysis/values/what_if.h"
#include "base/result.h"
#include "protocol/experiment.h"
#include "step/changes/retime.h"

namespace ridgeline::step {

/// By protocol::StepPart.
using PartBytes = std::array<std::uint64_t, protocol::kStepParts>;

/// By the key of an operation: what a call allocates at once, with its results; absent: not known.
using StandalonePeaks = std::function<std::optional<std::uint64_t>(const std::string& key)>;

/// Captured::peak_bytes with what operations allocate for themselves while they compute, which a step that is not
/// computed does not show. `standalone_peaks` may be empty: nothing is known of that.
PartBytes peaks_of(const protocol::Captured& captured, const StandalonePeaks& standalone_peaks);

/// What is known of the unchanged step besides its graph.
struct Baseline {
  double step_ms = 0;            ///< measured
  std::uint64_t peak_bytes = 0;  ///< measured
  /// peaks_of() the unchanged step; absent: memory is not predicted.
  std::optional<PartBytes> captured_peak_bytes{};
  int batch_size = 0;
  StandalonePeaks standalone_peaks{};  ///< of the operations of the unchanged step and of changed ones
  double noise = 0;  ///< how far `step_ms` may be off: 0.1 means 10 %. On a busy machine, operations are too
};

/// What every change of a step is compared with, made once.
struct ChangeBasis {
  Baseline baseline;
  UnchangedStep step;
  double ms_per_ns = 0;                                    ///< measured, over simulated
  std::array<std::int64_t, protocol::kStepParts> peaks{};  ///< of the simulated step, while each part ran
};

/// `graph` and `step` outlive it. An error when the graph cannot be simulated.
base::Result<ChangeBasis> change_basis(const Graph& graph, const protocol::CapturedStep& step, const Baseline& baseline,
                                       StandaloneTimes times);

/// A changed step: its graph, and what is predicted of it.
struct PredictedStep {
  Graph graph;
  analysis::PredictedChange predicted;
  double samples = 1;   ///< of a step, over those of the unchanged one
  double error_ms = 0;  ///< that PredictedChange::step_ms may be wrong by, 95 %
};

/// Simulates the changed step. An error when the graph cannot be simulated.
base::Result<PredictedStep> predict_step(const ChangeBasis& basis, const protocol::Captured& changed,
                                         StandaloneTimes times);

/// Describes a trial of at least one pair of rounds: the median of the pairs' ratios, with the 95 % interval of order
/// statistics.
analysis::TriedChange describe_trial(const protocol::Tried& tried);

}  // namespace ridgeline::step
