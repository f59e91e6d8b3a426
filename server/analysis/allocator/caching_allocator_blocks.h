// The segments of the modelled CUDA caching allocator, tiled by blocks, and the sets of blocks that are free. Which
// block serves a request is caching_allocator.h's business.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <tuple>
#include <vector>

namespace ridgeline::analysis {

using BlockIndex = std::uint32_t;
inline constexpr BlockIndex kNoBlock = ~BlockIndex{0};

enum class BlockState : std::uint8_t {
  kGone,          ///< the place in the table is vacant
  kUnmapped,      ///< address space of an expandable segment, without memory
  kFree,          ///< cached
  kAllocated,     ///< in use
  kAwaitingFree,  ///< freed by its owner, still in use on another stream (Tensor.record_stream)
};

/// A stretch of a segment. Between operations no two neighbours are both free, or both unmapped.
struct CachedBlock {
  std::uint64_t offset = 0;  ///< in the segment
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;        ///< by its owner, before rounding
  std::uint64_t id = 0;               ///< of the allocation
  std::uint64_t page_bytes = 0;       ///< of an expandable segment; 0: the segment is one allocation of the driver
  std::uint64_t searches_before = 0;  ///< of its pool, when it became free; for its age
  std::uint32_t segment = 0;          ///< in the order of creation, which stands for the order of addresses
  std::uint32_t stream = 0;
  BlockIndex previous = kNoBlock;
  BlockIndex next = kNoBlock;
  BlockState state = BlockState::kGone;
  bool small = false;  ///< which pool's

  bool is_split() const { return previous != kNoBlock || next != kNoBlock; }
  bool is_expandable() const { return page_bytes > 0; }
};

/// A block in a set: BlockComparatorSize. In the set of unmapped blocks `bytes` is 0: BlockComparatorAddress.
struct BlockKey {
  std::uint32_t stream = 0;
  std::uint64_t bytes = 0;
  std::uint32_t segment = 0;
  std::uint64_t offset = 0;
  BlockIndex block = 0;
  bool operator<(const BlockKey& other) const {
    return std::tie(stream, bytes, segment, offset) < std::tie(other.stream, other.bytes, other.segment, other.offset);
  }
};

struct CachedBlockPool {
  std::set<BlockKey> free;
  std::set<BlockKey> unmapped;
  std::uint64_t searches = 0;  ///< counted while garbage is collected: get_free_blocks_call_count
};

/// A value; not thread-safe. Indices stay valid until their block is merged into another or removed.
class CachedBlocks {
 public:
  const CachedBlock& operator[](BlockIndex block) const { return blocks_[block]; }
  std::span<const CachedBlock> all() const { return blocks_; }
  CachedBlockPool& pool(bool small) { return small ? small_ : large_; }
  /// Bytes of all segments that have memory.
  std::uint64_t reserved() const { return reserved_; }

  /// A new segment of one block that is free, but not in the set of free blocks: its maker takes it.
  BlockIndex add_segment(bool small, std::uint32_t stream, std::uint64_t bytes);
  /// A new expandable segment: one block without memory. `bytes` is a multiple of `page_bytes`.
  BlockIndex add_expandable_segment(bool small, std::uint32_t stream, std::uint64_t bytes, std::uint64_t page_bytes);
  /// Releases a segment whose only block this is: a free one in its set, or an unmapped one.
  void remove_segment(BlockIndex block);

  /// Takes a free block out of its set. Until it is used or made free, it is in none.
  void take(BlockIndex block);
  /// Cuts the first `bytes` off a taken block, and returns them, taken; the rest becomes free.
  BlockIndex split(BlockIndex block, std::uint64_t bytes);
  void use(BlockIndex block, std::uint64_t id, std::uint64_t requested);
  void await(BlockIndex block) { blocks_[block].state = BlockState::kAwaitingFree; }
  /// Puts a block that is in no set among the free, merged with its neighbours (free_block, try_merge_blocks).
  void make_free(BlockIndex block);

  /// How many bytes from the start of an unmapped block on have to be mapped to have `bytes`: whole pages.
  std::uint64_t bytes_to_map(BlockIndex block, std::uint64_t bytes) const;
  /// Gives the first `bytes` of an unmapped block memory, whole pages, and makes them free (map_block): the free block
  /// that they are part of.
  BlockIndex map(BlockIndex block, std::uint64_t bytes);
  /// Takes the memory of the whole pages of a free block of an expandable segment away, and the segment when nothing
  /// else is in it (unmap_block, release_expandable_segment).
  void unmap(BlockIndex block);

 private:
  BlockIndex add(const CachedBlock& block);
  BlockIndex insert_before(BlockIndex block, std::uint64_t bytes, BlockState state);
  void merge_neighbours(BlockIndex block);
  void absorb(BlockIndex block, BlockIndex neighbour);
  void enlist(BlockIndex block);
  void strike(BlockIndex block);
  static BlockKey key_of(const CachedBlock& block, BlockIndex index);

  std::vector<CachedBlock> blocks_;
  std::vector<BlockIndex> vacant_;
  CachedBlockPool small_;
  CachedBlockPool large_;
  std::uint64_t reserved_ = 0;
  std::uint32_t segments_made_ = 0;
};

}  // namespace ridgeline::analysis
