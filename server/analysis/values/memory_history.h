// The state of PyTorch's caching allocator, and what it did before, as torch.cuda.memory._dump_snapshot writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ridgeline::analysis {

struct MemoryFrame {
  std::string file;  ///< as Python or C++ names it; untrusted
  std::uint32_t line = 0;
  std::string function;
};

/// One of MemoryHistory::stacks; 0: none was recorded.
using MemoryStack = std::uint32_t;

enum class MemoryAction : std::uint8_t {
  kAlloc,
  kFreeRequested,  ///< the tensor is gone: `torch.cuda.memory_allocated` counts it no more
  kFreeCompleted,  ///< no stream uses the block any more: it can be given to others
  kSegmentAlloc,   ///< memory of the device was reserved; likewise kSegmentMap
  kSegmentFree,
  kSegmentMap,
  kSegmentUnmap,
  kOutOfMemory,
  kOther,
};

struct MemoryEvent {
  MemoryAction action = MemoryAction::kOther;
  MemoryStack stack = 0;
  std::uint64_t address = 0;  ///< of kOutOfMemory: the bytes that the device had free
  std::uint64_t bytes = 0;
  std::int64_t time_us = 0;  ///< of the host's clock; 0: not recorded
};

struct MemoryBlock {
  enum class State : std::uint8_t { kAllocated, kAwaitingFree, kFree };
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  State state = State::kFree;
  MemoryStack stack = 0;  ///< where it was allocated
};

/// What was reserved of a device at once.
struct MemorySegment {
  int device = 0;
  std::uint64_t bytes = 0;
  bool is_expandable = false;
  std::pair<std::uint64_t, std::uint64_t> pool{};  ///< (0, 0): any allocation may use it
  std::vector<MemoryBlock> blocks;
};

/// The events of a device, in order: a part of MemoryHistory::events.
struct MemoryTrace {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct MemoryHistory {
  std::vector<MemoryFrame> frames;
  std::vector<std::vector<std::uint32_t>> stacks = {{}};  ///< of frames, the innermost first; [0] is none
  std::vector<MemoryEvent> events;
  std::vector<MemoryTrace> devices;  ///< by the number of the device
  std::vector<MemorySegment> segments;
  bool is_cut_off = false;  ///< the file ends before the snapshot does
};

}  // namespace ridgeline::analysis
