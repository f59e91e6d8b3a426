#include "analysis/allocator/caching_allocator_blocks.h"

namespace ridgeline::analysis {

namespace {

std::uint64_t rounded_down(std::uint64_t bytes, std::uint64_t page_bytes) { return bytes / page_bytes * page_bytes; }

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t page_bytes) {
  return rounded_down(bytes + page_bytes - 1, page_bytes);
}

}  // namespace

BlockKey CachedBlocks::key_of(const CachedBlock& block, BlockIndex index) {
  const std::uint64_t bytes = block.state == BlockState::kUnmapped ? 0 : block.bytes;
  return {block.stream, bytes, block.segment, block.offset, index};
}

BlockIndex CachedBlocks::add(const CachedBlock& block) {
  if (vacant_.empty()) {
    blocks_.push_back(block);
    return static_cast<BlockIndex>(blocks_.size() - 1);
  }
  const BlockIndex index = vacant_.back();
  vacant_.pop_back();
  blocks_[index] = block;
  return index;
}

/// Into the set that its state says. What becomes free is new there: it has not been searched yet.
void CachedBlocks::enlist(BlockIndex index) {
  CachedBlock& block = blocks_[index];
  CachedBlockPool& its_pool = pool(block.small);
  block.searches_before = its_pool.searches;
  (block.state == BlockState::kFree ? its_pool.free : its_pool.unmapped).insert(key_of(block, index));
}

void CachedBlocks::strike(BlockIndex index) {
  const CachedBlock& block = blocks_[index];
  CachedBlockPool& its_pool = pool(block.small);
  (block.state == BlockState::kFree ? its_pool.free : its_pool.unmapped).erase(key_of(block, index));
}

BlockIndex CachedBlocks::add_segment(bool small, std::uint32_t stream, std::uint64_t bytes) {
  CachedBlock block;
  block.bytes = bytes;
  block.segment = segments_made_++;
  block.stream = stream;
  block.state = BlockState::kFree;
  block.small = small;
  reserved_ += bytes;
  return add(block);
}

BlockIndex CachedBlocks::add_expandable_segment(bool small, std::uint32_t stream, std::uint64_t bytes,
                                                std::uint64_t page_bytes) {
  CachedBlock block;
  block.bytes = bytes;
  block.page_bytes = page_bytes;
  block.segment = segments_made_++;
  block.stream = stream;
  block.state = BlockState::kUnmapped;
  block.small = small;
  const BlockIndex index = add(block);
  enlist(index);
  return index;
}

void CachedBlocks::remove_segment(BlockIndex index) {
  strike(index);
  reserved_ -= blocks_[index].state == BlockState::kFree ? blocks_[index].bytes : 0;
  blocks_[index] = {};
  vacant_.push_back(index);
}

void CachedBlocks::take(BlockIndex block) { strike(block); }

/// A new block, in no set, of the first `bytes` of another, which is in no set either and becomes shorter.
BlockIndex CachedBlocks::insert_before(BlockIndex index, std::uint64_t bytes, BlockState state) {
  CachedBlock front = blocks_[index];
  front.bytes = bytes;
  front.state = state;
  front.next = index;
  const BlockIndex added = add(front);
  if (front.previous != kNoBlock) {
    blocks_[front.previous].next = added;
  }
  CachedBlock& rest = blocks_[index];
  rest.previous = added;
  rest.offset += bytes;
  rest.bytes -= bytes;
  return added;
}

BlockIndex CachedBlocks::split(BlockIndex block, std::uint64_t bytes) {
  const BlockIndex front = insert_before(block, bytes, BlockState::kFree);
  enlist(block);
  return front;
}

void CachedBlocks::use(BlockIndex index, std::uint64_t id, std::uint64_t requested) {
  CachedBlock& block = blocks_[index];
  block.state = BlockState::kAllocated;
  block.id = id;
  block.requested = requested;
}

void CachedBlocks::make_free(BlockIndex index) {
  blocks_[index].state = BlockState::kFree;
  blocks_[index].requested = 0;
  merge_neighbours(index);
  enlist(index);
}

void CachedBlocks::merge_neighbours(BlockIndex index) {
  for (const BlockIndex neighbour : {blocks_[index].previous, blocks_[index].next}) {
    if (neighbour != kNoBlock && blocks_[neighbour].state == blocks_[index].state) {
      absorb(index, neighbour);
    }
  }
}

/// Makes a block, which is in no set, as long as itself and a neighbour of the same state, which ends.
void CachedBlocks::absorb(BlockIndex index, BlockIndex neighbour) {
  strike(neighbour);
  CachedBlock& block = blocks_[index];
  const CachedBlock& gone = blocks_[neighbour];
  block.bytes += gone.bytes;
  if (block.previous == neighbour) {
    block.offset = gone.offset;
    block.previous = gone.previous;
    if (block.previous != kNoBlock) {
      blocks_[block.previous].next = index;
    }
  } else {
    block.next = gone.next;
    if (block.next != kNoBlock) {
      blocks_[block.next].previous = index;
    }
  }
  blocks_[neighbour] = {};
  vacant_.push_back(neighbour);
}

std::uint64_t CachedBlocks::bytes_to_map(BlockIndex block, std::uint64_t bytes) const {
  return rounded_up(bytes, blocks_[block].page_bytes);
}

BlockIndex CachedBlocks::map(BlockIndex block, std::uint64_t bytes) {
  strike(block);
  BlockIndex mapped = block;
  if (bytes < blocks_[block].bytes) {
    mapped = insert_before(block, bytes, BlockState::kUnmapped);
    enlist(block);
  }
  reserved_ += bytes;
  make_free(mapped);
  return mapped;
}

void CachedBlocks::unmap(BlockIndex block) {
  const std::uint64_t start = blocks_[block].offset;
  const std::uint64_t page_bytes = blocks_[block].page_bytes;
  const std::uint64_t first = rounded_up(start, page_bytes);
  const std::uint64_t end = rounded_down(start + blocks_[block].bytes, page_bytes);
  if (first >= end) {
    return;
  }
  strike(block);
  if (first > start) {
    enlist(insert_before(block, first - start, BlockState::kFree));
  }
  BlockIndex pages = block;
  if (blocks_[block].bytes > end - first) {
    pages = insert_before(block, end - first, BlockState::kUnmapped);
    enlist(block);
  }
  reserved_ -= end - first;
  blocks_[pages].state = BlockState::kUnmapped;
  merge_neighbours(pages);
  enlist(pages);
  if (!blocks_[pages].is_split()) {
    remove_segment(pages);
  }
}

}  // namespace ridgeline::analysis
