#include "analysis/allocator/caching_allocator.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace ridgeline::analysis {

std::uint64_t SegmentView::reserved() const {
  std::uint64_t bytes = 0;
  for (const CachedBlock& block : blocks) {
    bytes += block.state == BlockState::kUnmapped ? 0 : block.bytes;
  }
  return bytes;
}

CachingAllocator::CachingAllocator(const CachingAllocatorSettings& settings, const DeviceMemory& device)
    : settings_(settings), device_{device.total, std::min(device.available, device.total)} {}

std::uint64_t CachingAllocator::max_split_bytes() const {
  constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
  return settings_.max_split_size_mb.has_value() ? std::min(*settings_.max_split_size_mb, kUnlimited / kMiB) * kMiB
                                                 : kUnlimited;
}

/// How much larger than the request a block that is not split must not be.
std::uint64_t CachingAllocator::max_excess_bytes() const {
  return settings_.max_non_split_rounding_mb.value_or(settings_.large_segment_size_mb) * kMiB;
}

std::optional<std::uint64_t> CachingAllocator::allowed_bytes() const {
  if (settings_.per_process_memory_fraction >= 1) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(settings_.per_process_memory_fraction * static_cast<double>(device_.total));
}

void CachingAllocator::note() {
  usage_.reserved = blocks_.reserved();
  peak_.requested = std::max(peak_.requested, usage_.requested);
  peak_.allocated = std::max(peak_.allocated, usage_.allocated);
  peak_.active = std::max(peak_.active, usage_.active);
  peak_.reserved = std::max(peak_.reserved, usage_.reserved);
}

// ---- requests ------------------------------------------------------------------------------------------------------

bool CachingAllocator::allocate(std::uint64_t id, std::uint64_t bytes, std::uint32_t stream) {
  free(id);
  if (bytes == 0) {
    return true;
  }
  if (bytes >= kTooManyBytes) {
    return false;
  }
  const std::uint64_t rounded = rounded_bytes(bytes, settings_);
  const Wanted wanted{rounded, segment_bytes(rounded, settings_), stream, rounded <= kSmallBytes};
  BlockIndex block = obtain(wanted);
  if (block == kNoBlock) {
    return false;
  }
  if (should_split(block, wanted)) {
    block = blocks_.split(block, wanted.bytes);
  }
  blocks_.use(block, id, bytes);
  in_use_[id] = block;
  usage_.requested += bytes;
  usage_.allocated += blocks_[block].bytes;
  usage_.active += blocks_[block].bytes;
  note();
  return true;
}

void CachingAllocator::free(std::uint64_t id) {
  const auto found = in_use_.find(id);
  if (found == in_use_.end()) {
    return;
  }
  if (blocks_[found->second].state == BlockState::kAwaitingFree) {
    awaiting_.erase(found->second);
  } else {
    usage_.allocated -= blocks_[found->second].bytes;
  }
  recycle(found->second);
}

void CachingAllocator::request_free(std::uint64_t id) {
  const auto found = in_use_.find(id);
  if (found == in_use_.end() || blocks_[found->second].state == BlockState::kAwaitingFree) {
    return;
  }
  usage_.allocated -= blocks_[found->second].bytes;
  blocks_.await(found->second);
  awaiting_.insert(found->second);
}

void CachingAllocator::complete_free(std::uint64_t id) {
  const auto found = in_use_.find(id);
  if (found != in_use_.end() && blocks_[found->second].state == BlockState::kAwaitingFree) {
    awaiting_.erase(found->second);
    recycle(found->second);
  }
}

/// The end of an allocation that no stream uses any more.
void CachingAllocator::recycle(BlockIndex block) {
  usage_.active -= blocks_[block].bytes;
  usage_.requested -= blocks_[block].requested;
  in_use_.erase(blocks_[block].id);
  blocks_.make_free(block);
}

void CachingAllocator::empty_cache() { release_cached(); }

bool CachingAllocator::serve(const MemoryRequest& request) {
  switch (request.kind) {
    case MemoryRequest::Kind::kAllocate:
      return allocate(request.id, request.bytes, request.stream);
    case MemoryRequest::Kind::kFree:
      free(request.id);
      break;
    case MemoryRequest::Kind::kRequestFree:
      request_free(request.id);
      break;
    case MemoryRequest::Kind::kCompleteFree:
      complete_free(request.id);
      break;
    case MemoryRequest::Kind::kEmptyCache:
      empty_cache();
      break;
  }
  return true;
}

// ---- statistics ----------------------------------------------------------------------------------------------------

std::vector<SegmentView> CachingAllocator::segments() const {
  std::vector<CachedBlock> heads;
  std::ranges::copy_if(blocks_.all(), std::back_inserter(heads), [](const CachedBlock& block) {
    return block.state != BlockState::kGone && block.previous == kNoBlock;
  });
  std::ranges::sort(heads, {}, &CachedBlock::segment);
  std::vector<SegmentView> views;
  for (const CachedBlock& head : heads) {
    SegmentView& view = views.emplace_back();
    view.blocks.push_back(head);
    while (view.blocks.back().next != kNoBlock) {
      view.blocks.push_back(blocks_[view.blocks.back().next]);
    }
  }
  return views;
}

AllocatorTimeline simulate(std::span<const MemoryRequest> requests, const CachingAllocatorSettings& settings,
                           const DeviceMemory& device) {
  CachingAllocator allocator(settings, device);
  AllocatorTimeline timeline;
  timeline.after.reserve(requests.size());
  for (const MemoryRequest& request : requests) {
    if (!allocator.serve(request)) {
      const bool absurd = request.bytes >= kTooManyBytes;
      const std::uint64_t segment = absurd ? 0 : segment_bytes(rounded_bytes(request.bytes, settings), settings);
      timeline.out_of_memory = {timeline.after.size(), segment, allocator.usage(), allocator.left()};
      break;
    }
    timeline.after.push_back(allocator.usage());
  }
  timeline.peak = allocator.peak();
  timeline.retries = allocator.retries();
  return timeline;
}

}  // namespace ridgeline::analysis
