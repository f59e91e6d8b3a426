#include "cluster/sharded_memory.h"

#include <algorithm>
#include <cmath>

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
  if (sharding.stage >= 1) sum -= alive(Category::kOptimizerState) * saved;
  sum += sharding.stage >= 2 ? units - std::min(alive(Category::kGradients), all) * saved : all;
  if (sharding.stage >= 3) sum += units - std::min(alive(Category::kWeights), all) * saved;
  return sum;
}

}  // namespace

std::uint64_t sharded_peak(const analysis::MemoryOverTime& memory, const Sharding& sharding) {
  double peak = 0;
  for (std::size_t instant = 0; instant < memory.ms.size(); ++instant) {
    peak = std::max(peak, sharded_at(memory, instant, sharding));
  }
  return static_cast<std::uint64_t>(std::llround(peak));
}

}  // namespace ridgeline::cluster
