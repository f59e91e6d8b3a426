// What a change brings, predicted; and what it brought when it was tried.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "analysis/values/what_if.h"
#include "base/result.h"
#include "protocol/experiment.h"
#include "whatif/retime.h"

namespace ridgeline::whatif {

/// What is known of the unchanged step besides its graph.
struct Baseline {
  double step_ms = 0;            ///< measured
  std::uint64_t peak_bytes = 0;  ///< measured
  /// Captured::peak_bytes of the unchanged step; absent: memory is not predicted, as on devices.
  std::optional<std::array<std::uint64_t, protocol::kStepParts>> captured_peak_bytes{};
  int batch_size = 0;
};

/// Simulates the changed step. An error when the graph cannot be simulated.
base::Result<analysis::PredictedChange> predict_change(const UnchangedStep& unchanged, const Baseline& baseline,
                                                       const protocol::Captured& changed, const TimeAlone& alone);

/// Of at least one pair of rounds: the median of the pairs' ratios, with the 95 % interval of order statistics.
analysis::TriedChange describe_trial(const protocol::Tried& tried);

}  // namespace ridgeline::whatif
