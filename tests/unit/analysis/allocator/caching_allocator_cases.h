// The state of the modelled CUDA caching allocator as words that a test can state, and random requests to it.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analysis/allocator/caching_allocator.h"

namespace ridgeline::analysis::testing {

/// The blocks of the segments by creation and address: their size in MiB, or in bytes with a B, and `*` for those in
/// use, `?` for those that wait for another stream, `.` for free ones; `-` is address space without memory. Segments
/// are divided by `|`.
inline std::string layout(const CachingAllocator& allocator) {
  std::string words;
  for (const SegmentView& segment : allocator.segments()) {
    words += words.empty() ? "" : " |";
    for (const CachedBlock& block : segment.blocks) {
      words += words.empty() ? "" : " ";
      if (block.state == BlockState::kUnmapped) {
        words += "-";
        continue;
      }
      const bool whole = block.bytes % kMiB == 0;
      words += whole ? std::to_string(block.bytes / kMiB) : std::to_string(block.bytes) + "B";
      words += block.state == BlockState::kFree ? "." : block.state == BlockState::kAllocated ? "*" : "?";
    }
  }
  return words;
}

/// A device with so many MiB, all of which the driver can give.
inline DeviceMemory device_of(std::uint64_t mib) { return {mib * kMiB, mib * kMiB}; }

/// Allocates blocks named 1, 2, ... of so many MiB each.
inline CachingAllocator with(std::initializer_list<std::uint64_t> mib, const CachingAllocatorSettings& settings = {},
                             const DeviceMemory& device = {}) {
  CachingAllocator allocator(settings, device);
  std::uint64_t id = 0;
  for (const std::uint64_t size : mib) {
    EXPECT_TRUE(allocator.allocate(++id, size * kMiB)) << id;
  }
  return allocator;
}

inline CachingAllocatorSettings expandable() {
  CachingAllocatorSettings settings;
  settings.expandable_segments = true;
  return settings;
}

inline CachingAllocatorSettings unsplit_from(std::uint64_t mib) {
  CachingAllocatorSettings settings;
  settings.max_split_size_mb = mib;
  return settings;
}

struct Case {
  CachingAllocatorSettings settings;
  DeviceMemory device;
};

/// Every combination of the settings comes up among 32 seeds.
inline Case case_of(unsigned seed) {
  Case made;
  made.settings.expandable_segments = (seed & 1U) != 0;
  if ((seed & 2U) != 0) {
    made.settings.max_split_size_mb = 24;
  }
  if ((seed & 4U) != 0) {
    made.settings.roundup_power2_divisions.fill(4);
  }
  if ((seed & 8U) != 0) {
    made.settings.per_process_memory_fraction = 0.75;
    made.settings.garbage_collection_threshold = 0.6;
    made.device = {1024 * kMiB, 1024 * kMiB};
  }
  if ((seed & 16U) != 0) {
    made.device = {512 * kMiB, 300 * kMiB};
  }
  return made;
}

/// Sizes of each pool and of each kind of segment, freed in any order, on two streams.
inline std::vector<MemoryRequest> requests_of(unsigned seed, std::size_t count) {
  using Kind = MemoryRequest::Kind;
  std::mt19937 random(seed);
  std::vector<MemoryRequest> requests;
  std::vector<std::uint64_t> alive;
  for (std::uint64_t id = 1; requests.size() < count; ++id) {
    const std::uint64_t size = std::uint64_t{1} << (random() % 26U);
    requests.push_back({Kind::kAllocate, id, size + random() % size, random() % 8U == 0 ? 1U : 0U});
    alive.push_back(id);
    while (!alive.empty() && random() % 70U < alive.size()) {
      std::swap(alive[random() % alive.size()], alive.back());
      const bool awaits = random() % 16U == 0;
      requests.push_back({awaits ? Kind::kRequestFree : Kind::kFree, alive.back(), 0, 0});
      alive.pop_back();
    }
    if (random() % 32U == 0) {
      requests.push_back({Kind::kCompleteFree, random() % id, 0, 0});
    }
    if (random() % 512U == 0) {
      requests.push_back({Kind::kEmptyCache, 0, 0, 0});
    }
  }
  return requests;
}

}  // namespace ridgeline::analysis::testing
