// How the modelled allocator gives cached memory back to the driver.
#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/allocator/caching_allocator.h"

namespace ridgeline::analysis {

/// What one call of the driver frees. Where settings changed meanwhile, PyTorch may hand it a block of which parts are
/// in use elsewhere; that fault is not copied.
bool CachingAllocator::is_releasable(BlockIndex block) const {
  return !blocks_[block].is_split() && !blocks_[block].is_expandable();
}

/// release_available_cached_blocks: the smallest cached block that is not to be split and large enough; else several,
/// the largest first. True when they amount to what is wanted.
bool CachingAllocator::release_oversize(const Wanted& wanted) {
  if (!settings_.max_split_size_mb.has_value()) {
    return false;
  }
  const std::set<BlockKey>& free = blocks_.pool(wanted.small).free;
  const std::uint64_t least = std::max(wanted.bytes, max_split_bytes());
  auto place = free.lower_bound({wanted.stream, least, 0, 0, 0});
  if (place != free.end() && place->stream == wanted.stream && is_releasable(place->block)) {
    blocks_.remove_segment(place->block);
    return true;
  }
  std::uint64_t released = 0;
  while (released < least && place != free.begin()) {
    const auto largest = std::prev(place);
    if (largest->stream != wanted.stream || largest->bytes < max_split_bytes()) {
      break;
    }
    if (is_releasable(largest->block)) {
      released += largest->bytes;
      blocks_.remove_segment(largest->block);
    } else {
      place = largest;
    }
  }
  return released >= least;
}

/// release_cached_blocks: waits for all streams, then releases every segment that is free as a whole, and every free
/// page of those that expand.
void CachingAllocator::release_cached() {
  for (const BlockIndex block : std::exchange(awaiting_, {})) {
    recycle(block);
  }
  release_pool(false);
  release_pool(true);
  note();
}

/// release_blocks
void CachingAllocator::release_pool(bool small) {
  const std::set<BlockKey>& free = blocks_.pool(small).free;
  std::vector<BlockIndex> expandable;
  for (auto place = free.begin(); place != free.end();) {
    const BlockIndex block = (place++)->block;
    if (blocks_[block].is_expandable()) {
      expandable.push_back(block);
    } else if (is_releasable(block)) {
      blocks_.remove_segment(block);
    }
  }
  for (const BlockIndex block : expandable) {
    blocks_.unmap(block);
  }
}

bool CachingAllocator::collects_garbage() const {
  return settings_.garbage_collection_threshold > 0 && allowed_bytes().has_value();
}

/// garbage_collect_cached_blocks: above the threshold, segments of the large pool that are free as a whole and have not
/// been reused for longer than the average of them, until enough was given back.
void CachingAllocator::collect_garbage() {
  if (!collects_garbage()) {
    return;
  }
  const auto threshold = static_cast<std::uint64_t>(settings_.garbage_collection_threshold *
                                                    static_cast<double>(allowed_bytes().value_or(0)));
  if (blocks_.reserved() <= threshold) {
    return;
  }
  const CachedBlockPool& pool = blocks_.pool(false);
  std::vector<std::pair<BlockIndex, std::uint64_t>> cached;  // and its age, in searches of the pool
  std::uint64_t age = 0;
  for (const BlockKey& key : pool.free) {
    if (is_releasable(key.block)) {
      cached.emplace_back(key.block, pool.searches - blocks_[key.block].searches_before);
      age += cached.back().second;
    }
  }
  bool released = true;
  while (released && blocks_.reserved() > threshold && !cached.empty()) {
    const double average = static_cast<double>(age) / static_cast<double>(cached.size());
    const auto count = std::erase_if(cached, [&](const auto& block) {
      if (static_cast<double>(block.second) < average) {
        return false;
      }
      age -= block.second;
      blocks_.remove_segment(block.first);
      return true;
    });
    released = count > 0;
  }
  note();
}

}  // namespace ridgeline::analysis
