#include "jobs/optimize/strategy_memory.h"

#include <algorithm>
#include <numeric>

#include "analysis/attribution/attribution.h"
#include "analysis/memory/memory.h"
#include "analysis/memory/memory_over_time.h"
#include "jobs/optimize/sharded_step.h"
#include "jobs/predict/sharded_memory.h"

namespace ridgeline::jobs {

namespace {

/// A unit for each bucket; when forward needs it is not known.
std::vector<ShardedUnit> units(const RecordedJob& job) {
  std::vector<ShardedUnit> units;
  auto gradient = job.gradient_bytes.begin();
  for (const std::size_t count : job.bucket_gradients) {
    const auto end = gradient + static_cast<std::ptrdiff_t>(count);
    units.push_back({std::accumulate(gradient, end, std::uint64_t{0})});
    gradient = end;
  }
  return units;
}

/// Whether buckets as large as all gradients lie beside these, as they do without gradient_as_bucket_view.
bool has_own_buckets(const analysis::MemoryOverTime& memory, std::uint64_t gradient_bytes) {
  for (std::size_t instant = 0; instant < memory.ms.size(); ++instant) {
    const auto& temporaries = memory.bytes[static_cast<std::size_t>(analysis::Category::kTemporaries)];
    if (temporaries[instant] < gradient_bytes) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::uint64_t StrategyMemory::peak_of(const Strategy& strategy) const {
  std::uint64_t peak = strategy.sharding > 0 ? sharded.at(strategy.sharding) : peak_bytes;
  for (const Recomputation& one : recomputations) {
    if (one.modules == strategy.recompute) {
      peak = one.peak_bytes;
    }
  }
  if (strategy.compression == 1) {
    return peak;
  }
  return peak + static_cast<std::uint64_t>(static_cast<double>(gradient_bytes) / strategy.compression);
}

StrategyMemory strategy_memory(std::span<const recording::Recording> recordings, const analysis::SourceScope& scope,
                               const RecordedJob& job, const std::vector<int>& stages) {
  StrategyMemory memory;
  memory.gradient_bytes = std::accumulate(job.gradient_bytes.begin(), job.gradient_bytes.end(), std::uint64_t{0});
  for (const recording::Recording& recording : recordings) {
    const analysis::Attribution attribution = analysis::attribute(recording, scope);
    const analysis::MemoryAnalysis of_rank = analysis::analyse_memory(recording, attribution, attribution.tree);
    memory.peak_bytes = std::max(memory.peak_bytes, of_rank.peak_bytes);
    if (stages.empty()) {
      continue;
    }
    const analysis::MemoryOverTime over_time = analysis::memory_over_time(recording, of_rank);
    for (const int stage : stages) {
      const Sharding sharding{.stage = stage,
                              .ranks = static_cast<double>(job.ranks.size()),
                              .gradient_bytes = memory.gradient_bytes,
                              .units = units(job),
                              .state_share = optimizer_share(job, stage),
                              .has_buckets = true};
      const bool known = has_own_buckets(over_time, memory.gradient_bytes);
      std::uint64_t& peak = memory.sharded[stage];
      peak = std::max(peak, known ? sharded_peak(over_time, sharding).high : of_rank.peak_bytes);
    }
  }
  return memory;
}

}  // namespace ridgeline::jobs
