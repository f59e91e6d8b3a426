// Which batch sizes to time next, for a model that checks itself: where it is least sure, as far as the time allows.
#pragma once

#include <span>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// What is known when the next sizes are chosen.
struct TimingState {
  std::vector<TimeSample> samples;  ///< timed so far, in any order
  std::vector<int> first;           ///< of those, the sizes that were timed before any was chosen
  std::vector<int> excluded;        ///< tried and failed, or not used for the models
  int largest_affordable = 0;       ///< that memory allows, as far as is known
  double seconds_left = 0;          ///< of the time budget
  double round_seconds = 0;         ///< a round of timing takes at least so long
  std::vector<Regime> regimes;      ///< judging by the recordings, by from_batch
};

/// The uncertainty to reach inside the samples, and beyond them up to twice the largest: relative standard
/// deviations.
inline constexpr double kInnerAim = 0.02;
inline constexpr double kOuterAim = 0.05;
/// No more sizes than these are timed beside the first.
inline constexpr std::size_t kMostChosen = 12;

/// The sizes to time next, the most uncertain first; none when the model is certain enough, or when the rest of the
/// time, the memory or `kMostChosen` does not allow another.
///
/// First come twice the largest size, the (geometric) middle of the widest gap and an eighth of the smallest size: they
/// check the model, however certain it is. Then the middle of each gap, and twice the new largest size, for as long as
/// the leave-one-out errors leave the model too uncertain there. A model that agrees with the first three ends the
/// search soon; where one disagrees, the gaps around it are uncertain and are halved. Where a regime that matters
/// begins in such a gap, the sizes on both sides of its beginning replace the middle. At most half of the remaining
/// time is spent at once. Pure.
std::vector<int> next_batch_sizes(const TimingState& state);

}  // namespace ridgeline::analysis
