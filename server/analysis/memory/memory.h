// Live memory, replayed from allocator events: the peak, and the category and owner of every byte at it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/attribution/attribution.h"
#include "analysis/attribution/call_tree.h"
#include "analysis/values/profile.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// Bytes that share a category and a stack.
struct MemoryCost {
  Category category = Category::kTemporaries;
  TreeNode owner = 0;                          ///< stack that allocated; for gradients, that of the parameter
  std::uint32_t parameter = recording::kNone;  ///< of weights and gradients
  std::uint64_t bytes = 0;
  std::uint32_t event = 0;                    ///< that allocated the block
  std::uint32_t freed_by = recording::kNone;  ///< event; kNone: it was not freed
};

struct MemoryAnalysis {
  std::uint64_t peak_bytes = 0;
  std::size_t iteration = 0;            ///< that has the peak
  std::vector<MemoryCost> blocks;       ///< all of the recording, by event
  std::vector<MemoryCost> at_peak;      ///< one entry per block; sums to peak_bytes
  std::vector<MemoryCost> activations;  ///< blocks of forward that were alive when forward ended
  std::vector<MemoryCost> weights;      ///< parameters and buffers
  std::vector<MemoryCost> gradients;    ///< last gradient of each parameter in the iteration
};

/// Analyses the iteration with the peak. `moment`, a time of the recording: what is alive then, in place of the peak,
/// of a recording of one iteration that ended by an error soon after; what forward made is then activations.
MemoryAnalysis analyse_memory(const recording::Recording& recording, const Attribution& attribution,
                              const CallTree& tree, std::optional<std::uint64_t> moment = std::nullopt);

}  // namespace ridgeline::analysis
