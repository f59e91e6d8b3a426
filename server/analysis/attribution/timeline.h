// Every instant of the iteration thread, attributed to a stack.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/attribution/attribution.h"
#include "analysis/attribution/call_tree.h"
#include "analysis/attribution/iteration_walk.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

struct Cost {
  double ns = 0;            ///< of one iteration, the cost of recording taken out
  std::uint64_t calls = 0;  ///< operations that began, over all the iterations used
};

/// Sums over the recorded iterations, of a line's share of each.
struct ShareSums {
  double shares = 0;
  double squares = 0;
};

struct Timeline {
  CallTree tree;  ///< the attribution's, and the stacks that own samples of backward: what is known of a run's stacks
  std::unordered_map<CostKey, Cost, CostKeyHash> costs{};
  double total_ns = 0;                                  ///< of one iteration: the sum of `costs`
  double recorded_ns = 0;                               ///< of one iteration, as the clock saw it
  int iterations = 0;                                   ///< how many were used
  int recorded = 0;                                     ///< how many there are
  std::unordered_map<LineId, ShareSums> self_shares{};  ///< of each line that has time of its own, over all recorded

  /// Standard deviation of the line's share over all recorded iterations, as a part of its mean. Nothing with fewer
  /// than three, or where the line has no time of its own.
  std::optional<double> self_spread(LineId line) const;
};

/// Gives every instant of the recorded iterations to exactly one owner. Uses the third of the iterations whose
/// durations lie in the middle, as the bare time is a median too. The other iterations only show how much the lines'
/// shares vary.
Timeline build_timeline(const recording::Recording& recording, const Attribution& attribution);

/// The third of the recorded iterations whose durations lie in the middle, at least one, in order of time.
std::vector<std::size_t> chosen_iterations(const recording::Recording& recording);

}  // namespace ridgeline::analysis
