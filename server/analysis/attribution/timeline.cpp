#include "analysis/attribution/timeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/attribution/autograd_threads.h"

namespace ridgeline::analysis {

namespace {

/// Recorded iterations that show how much shares vary.
constexpr std::size_t kLeastForSpread = 3;

using Costs = std::unordered_map<CostKey, Cost, CostKeyHash>;

Costs costs_of(const HostPieces& taken) {
  Costs costs;
  for (const HostPiece& piece : taken.pieces) {
    costs[piece.key].ns += piece.ns;
  }
  for (const CostKey& key : taken.begun) {
    ++costs[key].calls;
  }
  return costs;
}

/// Adds what the lines have of an iteration to the sums of their shares.
void add_shares(const Costs& costs, const CallTree& tree, std::unordered_map<LineId, ShareSums>& sums) {
  double total = 0;
  std::unordered_map<LineId, double> lines;
  for (const auto& [key, cost] : costs) {
    total += cost.ns;
    if (const LineId line = tree[key.owner].self_line; line != 0) {
      lines[line] += cost.ns;
    }
  }
  for (const auto& [line, ns] : lines) {
    const double share = total > 0 ? ns / total : 0;
    sums[line].shares += share;
    sums[line].squares += share * share;
  }
}

}  // namespace

std::optional<double> Timeline::self_spread(LineId line) const {
  const auto found = self_shares.find(line);
  if (recorded < static_cast<int>(kLeastForSpread) || found == self_shares.end() || found->second.shares <= 0) {
    return std::nullopt;
  }
  const double mean = found->second.shares / recorded;
  const double variance = (found->second.squares - recorded * mean * mean) / (recorded - 1);
  return std::sqrt(std::max(0.0, variance)) / mean;
}

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

namespace {

/// Iterations of the thread that ran them, with what autograd's threads did while it waited for them.
class StepWalk {
 public:
  StepWalk(const recording::Recording& recording, const Attribution& attribution) : walk_(recording, attribution) {
    for (const std::uint16_t thread : autograd_threads(recording, attribution)) {
      autograd_.emplace_back(recording, attribution, thread);
    }
  }
  HostPieces take(std::size_t iteration) {
    HostPieces taken = walk_.take(iteration);
    for (IterationWalk& thread : autograd_) {
      taken = with_autograd_thread(std::move(taken), thread.take(iteration));
    }
    return taken;
  }
  const CallTree& tree() const { return walk_.tree(); }

 private:
  IterationWalk walk_;
  std::vector<IterationWalk> autograd_;
};

}  // namespace

Timeline build_timeline(const recording::Recording& recording, const Attribution& attribution) {
  StepWalk walk(recording, attribution);
  const std::vector<std::size_t> chosen = chosen_iterations(recording);
  const std::size_t all = recording.iteration_start().size();
  Costs sums;
  std::unordered_map<LineId, ShareSums> shares;
  double recorded_ns = 0;
  for (std::size_t iteration = 0; iteration < all; ++iteration) {
    const bool is_chosen = std::ranges::binary_search(chosen, iteration);
    if (all < kLeastForSpread && !is_chosen) {
      continue;
    }
    const Costs costs = costs_of(walk.take(iteration));
    add_shares(costs, walk.tree(), shares);
    if (is_chosen) {
      recorded_ns += static_cast<double>(recording.iteration_end()[iteration] - recording.iteration_start()[iteration]);
      for (const auto& [key, cost] : costs) {
        sums[key].ns += cost.ns;
        sums[key].calls += cost.calls;
      }
    }
  }
  const auto count = static_cast<double>(chosen.size());
  Timeline timeline{walk.tree(), std::move(sums)};
  timeline.self_shares = std::move(shares);
  timeline.recorded_ns = recorded_ns / count;
  timeline.iterations = static_cast<int>(chosen.size());
  timeline.recorded = static_cast<int>(all);
  for (auto& [key, cost] : timeline.costs) {
    cost.ns /= count;
    timeline.total_ns += cost.ns;
  }
  return timeline;
}

}  // namespace ridgeline::analysis
