// Where the modelled allocator takes a block from: its cache, or new memory of the driver.
#include <algorithm>
#include <iterator>

#include "analysis/allocator/caching_allocator.h"

namespace ridgeline::analysis {

/// DeviceCachingAllocator::malloc: the cache, new memory, new memory after large cached blocks were given back, and
/// after all were.
BlockIndex CachingAllocator::obtain(const Wanted& wanted) {
  BlockIndex block = find_cached(wanted);
  if (block != kNoBlock) {
    return block;
  }
  collect_garbage();
  block = add_memory(wanted);
  if (block == kNoBlock && release_oversize(wanted)) {
    block = add_memory(wanted);
  }
  if (block == kNoBlock) {
    release_cached();
    ++retries_;
    block = add_memory(wanted);
  }
  return block;
}

/// get_free_block: the smallest free block of the stream that is large enough, of those the one at the lowest address.
/// A block at the end of an expandable segment counts as large as it can become.
BlockIndex CachingAllocator::find_cached(const Wanted& wanted) {
  CachedBlockPool& pool = blocks_.pool(wanted.small);
  pool.searches += collects_garbage() ? 1U : 0U;
  const auto is_candidate = [&](auto place) { return place != pool.free.end() && place->stream == wanted.stream; };
  const auto is_expandable = [&](auto place) { return blocks_[place->block].is_expandable(); };
  const auto can_become = [&](auto place) {
    const BlockIndex next = blocks_[place->block].next;
    const bool can_grow = next != kNoBlock && blocks_[next].state == BlockState::kUnmapped;
    return place->bytes + (can_grow ? blocks_[next].bytes : 0);
  };
  auto best = pool.free.lower_bound({wanted.stream, wanted.bytes, 0, 0, 0});
  if (!is_candidate(best)) {
    return kNoBlock;
  }
  if (settings_.expandable_segments) {
    for (auto next = std::next(best); is_expandable(best) && is_candidate(next) && can_become(next) < can_become(best);
         ++next) {
      best = next;
    }
  } else {
    while (is_candidate(best) && is_expandable(best)) {
      ++best;
    }
    if (!is_candidate(best)) {
      return kNoBlock;
    }
  }
  const std::uint64_t limit = max_split_bytes();
  const std::uint64_t excess = best->bytes - wanted.bytes;
  const bool too_large = wanted.bytes < limit ? best->bytes >= limit : excess >= max_excess_bytes();
  if (too_large) {
    return kNoBlock;
  }
  const BlockIndex block = best->block;
  blocks_.take(block);
  return block;
}

/// should_split
bool CachingAllocator::should_split(BlockIndex block, const Wanted& wanted) const {
  const std::uint64_t rest = blocks_[block].bytes - wanted.bytes;
  if (wanted.small || settings_.expandable_segments) {
    return rest >= kMinBlockBytes;
  }
  return wanted.bytes < max_split_bytes() && rest > kSmallBytes;
}

/// alloc_block: a taken block of new memory; kNoBlock when there is none.
BlockIndex CachingAllocator::add_memory(const Wanted& wanted) {
  const std::optional<std::uint64_t> allowed = allowed_bytes();
  if (allowed.has_value() && blocks_.reserved() + wanted.segment > *allowed) {
    return kNoBlock;
  }
  BlockIndex block = kNoBlock;
  if (settings_.expandable_segments) {
    block = expand(wanted);
  } else if (blocks_.reserved() + wanted.segment <= device_.available) {
    block = blocks_.add_segment(wanted.small, wanted.stream, wanted.segment);
  }
  note();
  return block;
}

// ---- expandable segments -------------------------------------------------------------------------------------------

/// try_allocate_expandable_block: what is mapped before memory runs out stays mapped, and free.
BlockIndex CachingAllocator::expand(const Wanted& wanted) {
  BlockIndex block = expandable_block(wanted);
  while (blocks_[block].state == BlockState::kUnmapped || blocks_[block].bytes < wanted.bytes) {
    const bool is_free = blocks_[block].state == BlockState::kFree;
    const std::uint64_t missing = wanted.bytes - (is_free ? blocks_[block].bytes : 0);
    const BlockIndex unmapped = is_free ? blocks_[block].next : block;
    block = map(unmapped, std::min(missing, blocks_[unmapped].bytes));
    if (block == kNoBlock) {
      return kNoBlock;
    }
  }
  blocks_.take(block);
  return block;
}

/// find_expandable_block: at the lowest address with room for the block in free and unmapped neighbours; a new segment
/// where there is none. It has address space for more than the device's memory, so what is missing in it is memory.
BlockIndex CachingAllocator::expandable_block(const Wanted& wanted) {
  const std::set<BlockKey>& unmapped = blocks_.pool(wanted.small).unmapped;
  for (auto place = unmapped.lower_bound({wanted.stream, 0, 0, 0, 0});
       place != unmapped.end() && place->stream == wanted.stream; ++place) {
    const BlockIndex before = blocks_[place->block].previous;
    const bool is_free = before != kNoBlock && blocks_[before].state == BlockState::kFree;
    const BlockIndex first = is_free ? before : place->block;
    if (has_room(first, wanted.bytes)) {
      return first;
    }
  }
  const std::uint64_t page = wanted.small ? kSmallSegmentBytes : settings_.large_segment_size_mb * kMiB;
  const std::uint64_t pages = (device_.total + device_.total / 8 + page - 1) / page;
  return blocks_.add_expandable_segment(wanted.small, wanted.stream, std::max<std::uint64_t>(pages, 1) * page, page);
}

bool CachingAllocator::has_room(BlockIndex first, std::uint64_t bytes) const {
  std::uint64_t room = 0;
  for (BlockIndex block = first; block != kNoBlock && room < bytes; block = blocks_[block].next) {
    if (blocks_[block].state != BlockState::kFree && blocks_[block].state != BlockState::kUnmapped) {
      return false;
    }
    room += blocks_[block].bytes;
  }
  return room >= bytes;
}

/// ExpandableSegment::map: all pages or none.
BlockIndex CachingAllocator::map(BlockIndex block, std::uint64_t bytes) {
  const std::uint64_t pages = blocks_.bytes_to_map(block, bytes);
  return blocks_.reserved() + pages > device_.available ? kNoBlock : blocks_.map(block, pages);
}

}  // namespace ridgeline::analysis
