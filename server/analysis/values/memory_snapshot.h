// What a snapshot of PyTorch's caching allocator says: who holds the memory, at the peak and at the end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/location.h"

namespace ridgeline::analysis {

/// What a block is for, as far as the stack that allocated it tells.
enum class MemoryUse : std::uint8_t { kWeights, kOptimizer, kActivations, kBackward, kData, kOther, kUnknown };
inline constexpr std::size_t kMemoryUses = 7;
inline constexpr std::array<const char*, kMemoryUses> kMemoryUseNames = {
    "weights", "optimizer", "activations", "backward", "data", "other", "withoutStack"};

/// Blocks that one line allocated and that are alive.
struct SnapshotLine {
  Location location;     ///< an empty file: no stack, or none with Python in it
  std::string function;  ///< that the line is in
  bool is_own = false;   ///< code of the user; else the innermost Python that there is
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
};

/// What is allocated at one moment. Uses and lines both add up to `bytes`.
struct SnapshotMoment {
  std::uint64_t bytes = 0;
  std::uint64_t reserved = 0;
  std::array<std::uint64_t, kMemoryUses> by_use{};
  std::vector<SnapshotLine> lines;  ///< the largest first
  double ms = 0;                    ///< since the recording began; 0: not recorded
};

struct SnapshotPoint {
  double ms = 0;                ///< since the recording began; without times: the number of the event
  std::uint64_t allocated = 0;  ///< the most around that time
  std::uint64_t reserved = 0;
};

/// An error that the allocator reported: nothing of that size was to be had.
struct SnapshotOutOfMemory {
  std::uint64_t asked = 0;
  std::uint64_t device_free = 0;
  SnapshotMoment moment;
  SnapshotLine line;  ///< that asked
};

/// A line whose blocks pile up: what it allocated in most periods is still alive.
struct SnapshotGrowth {
  SnapshotLine line;
  double bytes_a_period = 0;
  int periods = 0;  ///< of which something is left
};

/// What is reserved at the end, and not in use.
struct SnapshotFragments {
  std::uint64_t free_bytes = 0;
  std::uint64_t largest_free = 0;  ///< in one piece
  std::size_t segments = 0;
  std::size_t partly_used = 0;         ///< segments that cannot be given back, and have free blocks
  std::uint64_t partly_used_free = 0;  ///< bytes in these blocks
  bool is_expandable = false;          ///< expandable_segments is in use
};

/// Segments at the end that only a CUDA graph, or what runs in a torch.cuda.MemPool, may use.
struct SnapshotPools {
  std::size_t pools = 0;
  std::uint64_t reserved = 0;
  std::uint64_t allocated = 0;
};

struct MemorySnapshot {
  std::string path;
  int device = 0;
  std::size_t devices = 0;  ///< with memory or events
  std::size_t events = 0;
  double recorded_ms = 0;  ///< 0: without times
  bool has_times = false;
  SnapshotMoment at_peak;
  SnapshotMoment at_end;
  std::uint64_t awaiting_free = 0;  ///< at the end: freed, and a stream may still use it
  SnapshotFragments fragments;
  SnapshotPools private_pools{};
  std::vector<SnapshotPoint> over_time;
  std::optional<SnapshotOutOfMemory> out_of_memory;  ///< the last one
  std::vector<SnapshotGrowth> growth;
  int periods = 0;                 ///< that growth was looked for in
  bool periods_are_steps = false;  ///< of an optimizer; else equal parts of the recording
  std::vector<std::string> warnings;
};

}  // namespace ridgeline::analysis
