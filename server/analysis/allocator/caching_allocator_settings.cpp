#include "analysis/allocator/caching_allocator_settings.h"

#include <algorithm>
#include <bit>

namespace ridgeline::analysis {

namespace {

/// AcceleratorAllocatorConfig::roundup_power2_divisions: 16 intervals of sizes, each twice as large as the one before,
/// of which the first begins at 1 MiB.
std::uint64_t divisions_at(std::uint64_t bytes, const CachingAllocatorSettings& settings) {
  const auto interval = static_cast<std::size_t>(std::bit_width(std::max(bytes, kMiB)) - std::bit_width(kMiB));
  return settings.roundup_power2_divisions[std::min(interval, settings.roundup_power2_divisions.size() - 1)];
}

std::uint64_t multiple_of(std::uint64_t step, std::uint64_t bytes) { return (bytes + step - 1) / step * step; }

bool is_division(std::uint64_t count) { return count == 0 || std::has_single_bit(count); }

}  // namespace

std::optional<std::string> problem_with(const CachingAllocatorSettings& settings) {
  const std::string large = std::to_string(settings.large_segment_size_mb);
  if (settings.large_segment_size_mb <= kMinLargeBytes / kMiB) {
    return "large_segment_size_mb must be more than 10, and is " + large;
  }
  if (settings.max_split_size_mb.value_or(settings.large_segment_size_mb) < settings.large_segment_size_mb) {
    return "max_split_size_mb must be at least large_segment_size_mb, " + large;
  }
  if (settings.max_non_split_rounding_mb.value_or(settings.large_segment_size_mb) < settings.large_segment_size_mb) {
    return "max_non_split_rounding_mb must be at least large_segment_size_mb, " + large;
  }
  if (!std::ranges::all_of(settings.roundup_power2_divisions, is_division)) {
    return "roundup_power2_divisions must be powers of two, or 0";
  }
  if (!(settings.garbage_collection_threshold >= 0 && settings.garbage_collection_threshold < 1)) {
    return "garbage_collection_threshold must be from 0 to less than 1";
  }
  if (!(settings.per_process_memory_fraction >= 0 && settings.per_process_memory_fraction <= 1)) {
    return "per_process_memory_fraction must be from 0 to 1";
  }
  return std::nullopt;
}

std::uint64_t rounded_bytes(std::uint64_t bytes, const CachingAllocatorSettings& settings) {
  const std::uint64_t divisions = divisions_at(bytes, settings);
  if (divisions > 1 && bytes > kMinBlockBytes * divisions) {
    return multiple_of(std::bit_floor(bytes) / divisions, bytes);
  }
  return multiple_of(kMinBlockBytes, bytes);
}

std::uint64_t segment_bytes(std::uint64_t rounded, const CachingAllocatorSettings& settings) {
  if (rounded <= kSmallBytes) {
    return kSmallSegmentBytes;
  }
  return rounded < kMinLargeBytes ? settings.large_segment_size_mb * kMiB : multiple_of(kRoundLargeBytes, rounded);
}

}  // namespace ridgeline::analysis
