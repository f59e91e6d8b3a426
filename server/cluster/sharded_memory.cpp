#include "cluster/sharded_memory.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace ridgeline::cluster {

using analysis::Category;

namespace {

double alive(const analysis::MemoryOverTime& memory, Category category, std::size_t instant) {
  return static_cast<double>(memory.bytes[static_cast<std::size_t>(category)][instant]);
}

/// Of the weights that stage 2 gathers in forward, what is still there: backward frees each when its gradient is made.
/// All where gradients stay from step to step, as they do not tell then.
double gathered_share(const analysis::MemoryOverTime& memory, std::size_t instant, double all) {
  const auto& gradients = memory.bytes[static_cast<std::size_t>(Category::kGradients)];
  const auto least = static_cast<double>(*std::ranges::min_element(gradients));
  if (least >= all) return 1;
  return 1 - std::clamp((alive(memory, Category::kGradients, instant) - least) / (all - least), 0.0, 1.0);
}

double sharded_at(const analysis::MemoryOverTime& memory, std::size_t instant, const Sharding& sharding) {
  double sum = 0;
  for (const auto& category : memory.bytes) sum += static_cast<double>(category[instant]);
  const double saved = 1 - 1 / sharding.ranks;
  const auto all = static_cast<double>(sharding.gradient_bytes);
  const double units = std::min(2 * static_cast<double>(sharding.largest_unit), all);
  const double weights = std::min(alive(memory, Category::kWeights, instant), all);
  const double state = sharding.stage == 1 ? 1 - sharding.state_share.value_or(1 / sharding.ranks) : saved;
  if (sharding.stage >= 1) sum -= alive(memory, Category::kOptimizerState, instant) * state;
  if (sharding.has_buckets) sum -= all;
  sum += sharding.stage >= 2 ? units - std::min(alive(memory, Category::kGradients, instant), all) * saved : all;
  if (sharding.stage == 2) sum += weights * (gathered_share(memory, instant, all) - saved);
  if (sharding.stage >= 3) sum += units - weights * saved;
  return sum;
}

}  // namespace

double largest_share(std::vector<std::uint64_t> tensor_bytes, double ranks) {
  const auto all = static_cast<double>(std::accumulate(tensor_bytes.begin(), tensor_bytes.end(), std::uint64_t{0}));
  if (all <= 0) return 1;
  std::ranges::sort(tensor_bytes, std::ranges::greater{});
  std::vector<std::uint64_t> of_rank(
      static_cast<std::size_t>(std::min(ranks, static_cast<double>(tensor_bytes.size()))));
  for (const std::uint64_t bytes : tensor_bytes) *std::ranges::min_element(of_rank) += bytes;
  return static_cast<double>(*std::ranges::max_element(of_rank)) / all;
}

std::uint64_t sharded_peak(const analysis::MemoryOverTime& memory, const Sharding& sharding) {
  double peak = 0;
  for (std::size_t instant = 0; instant < memory.ms.size(); ++instant) {
    peak = std::max(peak, sharded_at(memory, instant, sharding));
  }
  return static_cast<std::uint64_t>(std::llround(peak));
}

}  // namespace ridgeline::cluster
