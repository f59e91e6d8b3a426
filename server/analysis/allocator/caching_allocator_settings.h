// The settings of PyTorch's CUDA caching allocator, and the two roundings that depend on them.
//
// The settings are those of PyTorch 2.13 (c10/core/AllocatorConfig.{h,cpp}, c10/cuda/CUDAAllocatorConfig.h). The rules
// of the model are those of c10/cuda/CUDACachingAllocator.cpp, class DeviceCachingAllocator, in the newest copy that
// was available: it has large_segment_size_mb, but not yet 2.13's throw_on_cudamalloc_oom. Comments name the function
// whose rule they state. docs/dev/measurement/device-memory.md says what is modelled.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace ridgeline::analysis {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t kMinBlockBytes = 512;           ///< kMinBlockSize: every block is a multiple of it
inline constexpr std::uint64_t kSmallBytes = 1 * kMiB;         ///< kSmallSize: the largest block of the small pool
inline constexpr std::uint64_t kSmallSegmentBytes = 2 * kMiB;  ///< kSmallBuffer: a segment of the small pool
inline constexpr std::uint64_t kMinLargeBytes = 10 * kMiB;     ///< kMinLargeAlloc: from here on, segments to measure
inline constexpr std::uint64_t kRoundLargeBytes = 2 * kMiB;    ///< kRoundLarge: what those are a multiple of
inline constexpr std::uint64_t kTooManyBytes = 1ULL << 60U;    ///< NativeCachingAllocator::allocate refuses an EiB

/// The options of PYTORCH_CUDA_ALLOC_CONF (PYTORCH_ALLOC_CONF) that change which memory is reserved, by their names and
/// with their defaults.
struct CachingAllocatorSettings {
  /// Blocks from this size on are not split, and serve no smaller request; nothing: all blocks are split.
  std::optional<std::uint64_t> max_split_size_mb;
  /// A block that is not split serves requests that are less than this smaller; nothing: large_segment_size_mb.
  std::optional<std::uint64_t> max_non_split_rounding_mb;
  /// The segment that requests between 1 and 10 MiB share; the page of expandable segments of the large pool.
  std::uint64_t large_segment_size_mb = 20;
  /// How many steps lie between two powers of two that requests are rounded up to; 0 and 1: none. By size: from 2^i MiB
  /// to less than 2^(i+1) MiB, the first also for what is smaller, the last for what is larger. The option's
  /// `[256:2,512:4,>:8]` is 2 in the places to 8, and 4 in 9, and 8 from there on; a single number is in all places.
  std::array<std::uint64_t, 16> roundup_power2_divisions{};
  /// The part of the memory that the process may use, above which cached segments are released by age. Has no effect
  /// unless `per_process_memory_fraction` is below 1 (malloc, setMemoryFraction).
  double garbage_collection_threshold = 0;
  bool expandable_segments = false;
  /// Also torch.cuda.set_per_process_memory_fraction(): of the device's total memory.
  double per_process_memory_fraction = 1;
};

/// Why PyTorch rejects the settings, as a message for the user; nothing when they are valid. Pure.
std::optional<std::string> problem_with(const CachingAllocatorSettings& settings);

/// The bytes of the block that serves a request (round_size, roundup_power2_next_division). `bytes` from 1 to less than
/// kTooManyBytes. Pure.
std::uint64_t rounded_bytes(std::uint64_t bytes, const CachingAllocatorSettings& settings);

/// The bytes of a new segment for a block of `rounded` bytes, where segments do not expand (get_allocation_size). Pure.
std::uint64_t segment_bytes(std::uint64_t rounded, const CachingAllocatorSettings& settings);

}  // namespace ridgeline::analysis
