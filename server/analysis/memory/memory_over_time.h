// Live memory by category over one recorded iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/memory/memory.h"
#include "analysis/values/profile.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// What is alive from an instant on, until the next one. The time is of the recording's clock, in nanoseconds.
struct LiveMemory {
  std::uint64_t time = 0;
  ByCategory bytes{};
};

/// From the start of an iteration, and after each event of the allocator up to its end.
std::vector<LiveMemory> live_memory(const recording::Recording& recording, const MemoryAnalysis& memory,
                                    std::size_t iteration);

/// The iteration with the peak. Where more than kMaxInstants change something, the iteration is divided into equal
/// times, of each of which the instants with most and with least alive are kept, with the first and the last of all:
/// the peak is among them.
MemoryOverTime memory_over_time(const recording::Recording& recording, const MemoryAnalysis& memory);

}  // namespace ridgeline::analysis
