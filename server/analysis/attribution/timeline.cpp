#include "analysis/attribution/timeline.h"

#include <algorithm>
#include <numeric>

namespace ridgeline::analysis {

std::vector<std::size_t> chosen_iterations(const recording::Recording& recording) {
  std::vector<std::size_t> order(recording.iteration_start().size());
  std::iota(order.begin(), order.end(), 0);
  const auto length = [&](std::size_t i) { return recording.iteration_end()[i] - recording.iteration_start()[i]; };
  std::ranges::stable_sort(order, {}, length);
  const std::size_t outside = order.size() / 3;
  order.erase(order.end() - static_cast<std::ptrdiff_t>(outside), order.end());
  order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(outside));
  std::ranges::sort(order);
  return order;
}

Timeline build_timeline(const recording::Recording& recording, const Attribution& attribution) {
  IterationWalk walk(recording, attribution);
  std::unordered_map<CostKey, Cost, CostKeyHash> costs;
  double recorded_ns = 0;
  const std::vector<std::size_t> iterations = chosen_iterations(recording);
  for (const std::size_t iteration : iterations) {
    recorded_ns += static_cast<double>(recording.iteration_end()[iteration] - recording.iteration_start()[iteration]);
    const HostPieces taken = walk.take(iteration);
    for (const HostPiece& piece : taken.pieces) {
      costs[piece.key].ns += piece.ns;
    }
    for (const CostKey& key : taken.begun) {
      ++costs[key].calls;
    }
  }
  const auto count = static_cast<double>(iterations.size());
  Timeline timeline{walk.tree(), std::move(costs), 0, recorded_ns / count, static_cast<int>(iterations.size())};
  for (auto& [key, cost] : timeline.costs) {
    cost.ns /= count;
    timeline.total_ns += cost.ns;
  }
  return timeline;
}

}  // namespace ridgeline::analysis
