// A model of PyTorch's CUDA caching allocator: what it reserves for a stream of requests, and where it runs out of
// memory. By PyTorch's own rules (caching_allocator_settings.h says from where); no device is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/allocator/caching_allocator_blocks.h"
#include "analysis/allocator/caching_allocator_settings.h"

namespace ridgeline::analysis {

/// A device as the allocator sees it, in bytes. By default without a limit that anything would reach (1 PiB).
struct DeviceMemory {
  std::uint64_t total = 1ULL << 50U;  ///< cudaDeviceProp::totalGlobalMem
  /// What the driver can give to the allocator: the total, less the context, libraries, other processes. At most the
  /// total.
  std::uint64_t available = 1ULL << 50U;
};

/// Bytes, as torch.cuda.memory_stats() counts them.
struct MemoryUsage {
  std::uint64_t requested = 0;  ///< of the active blocks, before rounding
  std::uint64_t allocated = 0;  ///< in blocks that are in use: torch.cuda.memory_allocated()
  std::uint64_t active = 0;     ///< and in those that wait for another stream
  std::uint64_t reserved = 0;   ///< in all segments: torch.cuda.memory_reserved()
  bool operator==(const MemoryUsage&) const = default;
};

/// A segment, for tests and reports. Its blocks tile it, by address.
struct SegmentView {
  std::vector<CachedBlock> blocks;
  /// Bytes of the blocks that are backed by memory.
  std::uint64_t reserved() const;
};

/// One request of a program.
struct MemoryRequest {
  enum class Kind : std::uint8_t { kAllocate, kFree, kRequestFree, kCompleteFree, kEmptyCache };
  Kind kind = Kind::kAllocate;
  std::uint64_t id = 0;      ///< the caller's name for the allocation; no meaning for kEmptyCache
  std::uint64_t bytes = 0;   ///< of kAllocate
  std::uint32_t stream = 0;  ///< of kAllocate
};

/// A value; deterministic; not thread-safe. O(log blocks) per call, except where cached segments are released.
class CachingAllocator {
 public:
  /// The settings must be valid: see problem_with().
  explicit CachingAllocator(const CachingAllocatorSettings& settings = {}, const DeviceMemory& device = {});

  /// False when out of memory: then nothing was allocated, but everything possible was released to the driver. Zero
  /// bytes need no block. An `id` that is in use is freed first.
  bool allocate(std::uint64_t id, std::uint64_t bytes, std::uint32_t stream = 0);
  /// Does nothing for an id that is not in use.
  void free(std::uint64_t id);
  /// Frees what another stream still uses (Tensor.record_stream): it stays active until complete_free(), or until the
  /// allocator waits for all streams, because it needs their memory.
  void request_free(std::uint64_t id);
  void complete_free(std::uint64_t id);
  /// torch.cuda.empty_cache()
  void empty_cache();
  /// One of these, as the request says; false when out of memory.
  bool serve(const MemoryRequest& request);
  /// For what follows: torch.cuda.memory._set_allocator_settings(). Segments stay as they are. The settings must be
  /// valid.
  void set(const CachingAllocatorSettings& settings) { settings_ = settings; }

  const MemoryUsage& usage() const { return usage_; }
  /// The peak of each figure by itself.
  const MemoryUsage& peak() const { return peak_; }
  /// How often all cached memory was released for one allocation: num_alloc_retries.
  std::uint64_t retries() const { return retries_; }
  /// Bytes that the driver could still give.
  std::uint64_t left() const { return device_.available - blocks_.reserved(); }
  /// By creation.
  std::vector<SegmentView> segments() const;

 private:
  /// A rounded request: a block of `bytes`, or a segment for it.
  struct Wanted {
    std::uint64_t bytes = 0;
    std::uint64_t segment = 0;
    std::uint32_t stream = 0;
    bool small = false;
  };

  BlockIndex obtain(const Wanted& wanted);
  BlockIndex find_cached(const Wanted& wanted);
  BlockIndex add_memory(const Wanted& wanted);
  BlockIndex expand(const Wanted& wanted);
  BlockIndex expandable_block(const Wanted& wanted);
  bool has_room(BlockIndex first, std::uint64_t bytes) const;
  BlockIndex map(BlockIndex block, std::uint64_t bytes);
  bool should_split(BlockIndex block, const Wanted& wanted) const;
  void recycle(BlockIndex block);

  bool is_releasable(BlockIndex block) const;
  bool release_oversize(const Wanted& wanted);
  void release_cached();
  void release_pool(bool small);
  void collect_garbage();
  bool collects_garbage() const;

  std::uint64_t max_split_bytes() const;
  std::uint64_t max_excess_bytes() const;
  std::optional<std::uint64_t> allowed_bytes() const;
  void note();

  CachingAllocatorSettings settings_;
  DeviceMemory device_;
  CachedBlocks blocks_;
  std::unordered_map<std::uint64_t, BlockIndex> in_use_;  ///< by id: allocated, or awaiting its free
  std::set<BlockIndex> awaiting_;
  MemoryUsage usage_;
  MemoryUsage peak_;
  std::uint64_t retries_ = 0;
};

/// The request that was refused.
struct OutOfMemory {
  std::size_t request = 0;    ///< its place in the stream of requests
  std::uint64_t segment = 0;  ///< "Tried to allocate" in PyTorch's message, in bytes; 0: an EiB or more
  MemoryUsage usage;          ///< after everything possible was released
  std::uint64_t free = 0;     ///< bytes that the driver could still give
};

struct AllocatorTimeline {
  std::vector<MemoryUsage> after;  ///< one for each request that was served
  MemoryUsage peak;                ///< of each figure by itself
  std::uint64_t retries = 0;
  std::optional<OutOfMemory> out_of_memory;  ///< where it ends, if the requests do not fit
};

/// Serves the requests in order, up to the first that does not fit. Pure; 1 M requests take a fraction of a second.
AllocatorTimeline simulate(std::span<const MemoryRequest> requests, const CachingAllocatorSettings& settings = {},
                           const DeviceMemory& device = {});

}  // namespace ridgeline::analysis
