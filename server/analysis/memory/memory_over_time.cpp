#include "analysis/memory/memory_over_time.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace ridgeline::analysis {

namespace {

constexpr double kNsPerMs = 1e6;

struct Change {
  std::uint32_t event = 0;
  Category category = Category::kTemporaries;
  std::uint64_t bytes = 0;
  bool frees = false;
};

std::vector<Change> changes_of(const MemoryAnalysis& memory) {
  std::vector<Change> changes;
  for (const MemoryCost& block : memory.blocks) {
    changes.push_back({block.event, block.category, block.bytes, false});
    if (block.freed_by != recording::kNone) {
      changes.push_back({block.freed_by, block.category, block.bytes, true});
    }
  }
  std::ranges::stable_sort(changes, {}, &Change::event);
  return changes;
}

void apply(const Change& change, ByCategory& bytes) {
  std::uint64_t& live = bytes[static_cast<std::size_t>(change.category)];
  live = change.frees ? live - change.bytes : live + change.bytes;
}

std::uint64_t total(const LiveMemory& memory) {
  return std::accumulate(memory.bytes.begin(), memory.bytes.end(), std::uint64_t{0});
}

/// For each of several equal intervals of time, the first instant with most memory alive and the first with least, in
/// order of time; and the first and the last instant of all.
std::vector<LiveMemory> thinned(const std::vector<LiveMemory>& instants, std::uint64_t end) {
  if (instants.size() <= kMaxInstants) {
    return instants;
  }
  constexpr std::size_t kTimes = (kMaxInstants - 2) / 2;
  const std::uint64_t start = instants.front().time;
  const std::uint64_t length = std::max<std::uint64_t>(1, end - start);
  const auto part_of = [&](const LiveMemory& instant) {
    const double part = static_cast<double>(instant.time - start) / static_cast<double>(length);
    return std::min(kTimes - 1, static_cast<std::size_t>(part * kTimes));
  };
  std::vector<LiveMemory> kept = {instants.front()};
  const auto end_of_all = instants.end() - 1;
  for (auto first = instants.begin() + 1; first != end_of_all;) {
    const auto last = std::find_if(
        first, end_of_all, [&, part = part_of(*first)](const LiveMemory& instant) { return part_of(instant) != part; });
    const auto most = std::ranges::max_element(first, last, {}, total);
    const auto least = std::ranges::min_element(first, last, {}, total);
    kept.push_back(*std::min(most, least));
    if (most != least) {
      kept.push_back(*std::max(most, least));
    }
    first = last;
  }
  kept.push_back(instants.back());
  return kept;
}

}  // namespace

std::vector<LiveMemory> live_memory(const recording::Recording& recording, const MemoryAnalysis& memory,
                                    std::size_t iteration) {
  const std::uint64_t start = recording.iteration_start()[iteration];
  const std::uint64_t end = recording.iteration_end()[iteration];
  const std::vector<Change> changes = changes_of(memory);
  const auto time = [&](const Change& change) { return recording.memory_time()[change.event]; };
  LiveMemory live{start, {}};
  auto change = changes.begin();
  for (; change != changes.end() && time(*change) < start; ++change) {
    apply(*change, live.bytes);
  }
  std::vector<LiveMemory> instants = {live};
  while (change != changes.end() && time(*change) <= end) {
    live.time = time(*change);
    for (const std::uint32_t event = change->event; change != changes.end() && change->event == event; ++change) {
      apply(*change, live.bytes);
    }
    instants.push_back(live);
  }
  return instants;
}

MemoryOverTime memory_over_time(const recording::Recording& recording, const MemoryAnalysis& memory) {
  const std::uint64_t start = recording.iteration_start()[memory.iteration];
  const std::uint64_t end = recording.iteration_end()[memory.iteration];
  const std::vector<LiveMemory> instants = thinned(live_memory(recording, memory, memory.iteration), end);
  MemoryOverTime over_time;
  over_time.recorded_ms = static_cast<double>(end - start) / kNsPerMs;
  for (const LiveMemory& instant : instants) {
    over_time.ms.push_back(static_cast<double>(instant.time - start) / kNsPerMs);
    for (std::size_t i = 0; i < kCategoryCount; ++i) {
      over_time.bytes[i].push_back(instant.bytes[i]);
    }
  }
  over_time.peak = static_cast<std::size_t>(std::ranges::max_element(instants, {}, total) - instants.begin());
  return over_time;
}

}  // namespace ridgeline::analysis
