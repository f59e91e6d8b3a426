// What a rank needs with each strategy of a recorded job.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "analysis/values/input.h"
#include "jobs/optimize/strategy_search.h"
#include "jobs/predict/recomputation.h"
#include "protocol/recording.h"

namespace ridgeline::jobs {

/// Bytes, of the rank that has most.
struct StrategyMemory {
  std::uint64_t peak_bytes = 0;                 ///< of the job as it is
  std::uint64_t gradient_bytes = 0;             ///< of all
  std::map<int, std::uint64_t> sharded{};       ///< peaks, by stage of ZeRO
  std::vector<Recomputation> recomputations{};  ///< that are searched

  /// A compressed copy of the gradients comes on top. Other buckets, several micro-batches, fused operations and
  /// changes of the user's own are taken to need what the job as it is needs.
  std::uint64_t peak_of(const Strategy& strategy) const;
};

/// Peaks of the recordings and, by sharded_peak(), of each stage. The units of stage 2 are the recorded buckets. Pure.
StrategyMemory strategy_memory(std::span<const recording::Recording> recordings, const analysis::SourceScope& scope,
                               const RecordedJob& job, const std::vector<int>& stages);

}  // namespace ridgeline::jobs
