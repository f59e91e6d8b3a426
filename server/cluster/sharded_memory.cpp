#include "cluster/sharded_memory.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace ridgeline::cluster {

using analysis::Category;

namespace {

double sharded_at(const analysis::MemoryOverTime& memory, std::size_t instant, const Sharding& sharding) {
  const auto alive = [&](Category category) {
    return static_cast<double>(memory.bytes[static_cast<std::size_t>(category)][instant]);
  };
  double sum = 0;
  for (const auto& category : memory.bytes) sum += static_cast<double>(category[instant]);
  const double saved = 1 - 1 / sharding.ranks;
  const auto all = static_cast<double>(sharding.gradient_bytes);
  const double units = std::min(2 * static_cast<double>(sharding.largest_unit), all);
  const double state = sharding.stage == 1 ? 1 - sharding.state_share.value_or(1 / sharding.ranks) : saved;
  if (sharding.stage >= 1) sum -= alive(Category::kOptimizerState) * state;
  sum += sharding.stage >= 2 ? units - std::min(alive(Category::kGradients), all) * saved : all;
  if (sharding.stage >= 3) sum += units - std::min(alive(Category::kWeights), all) * saved;
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
