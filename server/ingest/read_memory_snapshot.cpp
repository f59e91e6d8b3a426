#include "ingest/read_memory_snapshot.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ingest/import_error.h"
#include "ingest/pickle_reader.h"

namespace ridgeline::ingest {

namespace {

using analysis::MemoryAction;
using analysis::MemoryBlock;
using analysis::MemoryEvent;
using analysis::MemoryFrame;
using analysis::MemoryHistory;
using analysis::MemorySegment;
using analysis::MemoryStack;
using Kind = PickleValue::Kind;

/// The objects that dicts become: what they are is in the highest byte of their number.
enum class Object : std::uint8_t { kFrame = 1, kStack, kEvent, kBlock, kSegment, kNothing };
constexpr unsigned kTypeBits = 56;

constexpr std::array<std::pair<std::string_view, MemoryAction>, 8> kActions = {{
    {"alloc", MemoryAction::kAlloc},
    {"free_requested", MemoryAction::kFreeRequested},
    {"free_completed", MemoryAction::kFreeCompleted},
    {"segment_alloc", MemoryAction::kSegmentAlloc},
    {"segment_free", MemoryAction::kSegmentFree},
    {"segment_map", MemoryAction::kSegmentMap},
    {"segment_unmap", MemoryAction::kSegmentUnmap},
    {"oom", MemoryAction::kOutOfMemory},
}};

std::uint64_t object_bits(Object type, std::uint64_t number) {
  return std::uint64_t{static_cast<std::uint8_t>(type)} << kTypeBits | number;
}

/// The number of an object of that type; nothing: it is something else.
std::optional<std::uint64_t> object_number(PickleValue value, Object type) {
  const bool is_it = value.kind == Kind::kObject && value.bits >> kTypeBits == static_cast<std::uint8_t>(type);
  return is_it ? std::optional(value.bits & ((std::uint64_t{1} << kTypeBits) - 1)) : std::nullopt;
}

/// 0 for what is no such number.
std::uint64_t natural(PickleValue value) {
  return value.kind == Kind::kInteger && value.bits >> 63U == 0 ? value.bits : 0;
}

struct StackHash {
  std::size_t operator()(const std::vector<std::uint32_t>& frames) const {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const std::uint32_t frame : frames) {
      hash = (hash ^ frame) * 0x100000001B3ULL;
    }
    return static_cast<std::size_t>(hash);
  }
};

class SnapshotReader {
 public:
  SnapshotReader(ByteSource source, const SnapshotLimits& limits)
      : limits_(limits),
        reader_(std::move(source), [this](PickleReader& /*reader*/, PickleValue dict) { return take(dict); }) {}

  MemoryHistory read() {
    const PickleValue root = reader_.read();
    history_.is_cut_off = reader_.is_cut_off();
    const PickleValue segments = root.kind == Kind::kDict ? reader_.find(root, "segments") : root;
    const PickleValue traces = reader_.find(root, "device_traces");
    if (segments.kind != Kind::kList && traces.kind != Kind::kList) {
      throw ImportError("The pickle is no memory snapshot: torch.cuda.memory._dump_snapshot writes one.");
    }
    take_segments(segments);
    for (const PickleValue trace : reader_.list(traces)) {
      take_trace(trace);
    }
    return std::move(history_);
  }

 private:
  PickleValue find(PickleValue dict, std::string_view key) const { return reader_.find(dict, key); }

  std::optional<std::uint64_t> take(PickleValue dict) {
    if (const PickleValue file = find(dict, "filename"); file.kind == Kind::kText) {
      return take_frame(dict, file);
    }
    if (const PickleValue action = find(dict, "action"); action.kind == Kind::kText) {
      return take_event(dict, action);
    }
    if (find(dict, "blocks").kind == Kind::kList) {
      return take_segment(dict);
    }
    if (const PickleValue state = find(dict, "state"); state.kind == Kind::kText) {
      return take_block(dict, state);
    }
    // Of torch 2.0, in the `history` of a block.
    return find(dict, "real_size").kind == Kind::kInteger
               ? std::optional(object_bits(Object::kStack, stack_of(find(dict, "frames"))))
               : std::nullopt;
  }

  std::uint64_t take_frame(PickleValue dict, PickleValue file) {
    const PickleValue name = find(dict, "name");
    const auto line = static_cast<std::uint32_t>(std::min<std::uint64_t>(natural(find(dict, "line")), UINT32_MAX));
    const std::array<std::uint64_t, 3> key = {file.bits, line, name.kind == Kind::kText ? name.bits : UINT64_MAX};
    const auto [found, is_new] = frames_.try_emplace(key, history_.frames.size());
    if (is_new) {
      history_.frames.push_back({std::string(reader_.text(file)), line, std::string(reader_.text(name))});
    }
    return object_bits(Object::kFrame, found->second);
  }

  /// Of a list of frames, which becomes a stack: the pickle may refer to it again.
  MemoryStack stack_of(PickleValue frames) {
    if (const auto known = object_number(frames, Object::kStack)) {
      return static_cast<MemoryStack>(*known);
    }
    std::vector<std::uint32_t> stack;
    for (const PickleValue frame : reader_.list(frames)) {
      if (const auto number = object_number(frame, Object::kFrame); number && stack.size() < limits_.frames_of_stack) {
        stack.push_back(static_cast<std::uint32_t>(*number));
      }
    }
    MemoryStack number = 0;
    if (!stack.empty()) {
      const auto [found, is_new] = stacks_.try_emplace(stack, static_cast<MemoryStack>(history_.stacks.size()));
      if (is_new) {
        history_.stacks.push_back(std::move(stack));
      }
      number = found->second;
    }
    if (frames.kind == Kind::kList) {
      reader_.replace(frames, object_bits(Object::kStack, number));
    }
    return number;
  }

  std::uint64_t take_event(PickleValue dict, PickleValue action) {
    if (history_.events.size() >= limits_.events) {
      return object_bits(Object::kNothing, 0);
    }
    const auto* const known =
        std::ranges::find(kActions, reader_.text(action), &std::pair<std::string_view, MemoryAction>::first);
    MemoryEvent event;
    event.action = known == kActions.end() ? MemoryAction::kOther : known->second;
    event.stack = stack_of(find(dict, "frames"));
    event.address = natural(find(dict, event.action == MemoryAction::kOutOfMemory ? "device_free" : "addr"));
    event.bytes = natural(find(dict, "size"));
    event.time_us = static_cast<std::int64_t>(natural(find(dict, "time_us")));
    history_.events.push_back(event);
    return object_bits(Object::kEvent, history_.events.size() - 1);
  }

  std::uint64_t take_block(PickleValue dict, PickleValue state) {
    const std::string_view name = reader_.text(state);
    MemoryBlock block;
    block.address = natural(find(dict, "address"));
    block.bytes = natural(find(dict, "size"));
    block.state = name == "active_allocated" ? MemoryBlock::State::kAllocated
                  : name == "inactive"       ? MemoryBlock::State::kFree
                                             : MemoryBlock::State::kAwaitingFree;
    block.stack = stack_of(find(dict, "frames"));
    const auto history = reader_.list(find(dict, "history"));
    if (block.stack == 0 && !history.empty()) {
      block.stack = static_cast<MemoryStack>(object_number(history.front(), Object::kStack).value_or(0));
    }
    blocks_.push_back(block);
    return object_bits(Object::kBlock, blocks_.size() - 1);
  }

  std::uint64_t take_segment(PickleValue dict) {
    MemorySegment segment;
    segment.device = static_cast<int>(std::min<std::uint64_t>(natural(find(dict, "device")), kMostDevices - 1));
    segment.bytes = natural(find(dict, "total_size"));
    segment.is_expandable = natural(find(dict, "is_expandable")) != 0;
    if (const auto pool = reader_.list(find(dict, "segment_pool_id")); pool.size() == 2) {
      segment.pool = {natural(pool[0]), natural(pool[1])};
    }
    std::uint64_t address = natural(find(dict, "address"));
    for (const PickleValue value : reader_.list(find(dict, "blocks"))) {
      if (const auto number = object_number(value, Object::kBlock)) {
        MemoryBlock block = blocks_[*number];
        block.address = block.address == 0 ? address : block.address;  // torch 2.0 does not say it
        address = block.address + block.bytes;
        segment.blocks.push_back(block);
      }
    }
    blocks_.clear();
    history_.segments.push_back(std::move(segment));
    return object_bits(Object::kSegment, history_.segments.size() - 1);
  }

  /// Those in the list are all there are; of one that is cut off, the last may be a dict still.
  void take_segments(PickleValue list) {
    for (const PickleValue value : reader_.list(list)) {
      if (!object_number(value, Object::kSegment) && !history_.is_cut_off) {
        throw ImportError("The memory snapshot has a segment without blocks.");
      }
    }
  }

  void take_trace(PickleValue list) {
    const auto values = reader_.list(list);
    std::vector<std::uint64_t> numbers;
    numbers.reserve(values.size());
    for (const PickleValue value : values) {
      if (const auto number = object_number(value, Object::kEvent)) {
        numbers.push_back(*number);
      }
    }
    if (history_.devices.size() >= kMostDevices) {
      throw ImportError("The memory snapshot has more devices than any machine.");
    }
    const std::size_t begin = numbers.empty() ? 0 : static_cast<std::size_t>(numbers.front());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] != begin + i) {
        throw ImportError("The memory snapshot has events of one device among those of another.");
      }
    }
    history_.devices.push_back({begin, begin + numbers.size()});
  }

  static constexpr std::size_t kMostDevices = 1024;

  SnapshotLimits limits_;
  MemoryHistory history_;
  std::map<std::array<std::uint64_t, 3>, std::uint64_t> frames_;
  std::unordered_map<std::vector<std::uint32_t>, MemoryStack, StackHash> stacks_;
  std::vector<MemoryBlock> blocks_;  ///< of the segment that is read
  PickleReader reader_;
};

}  // namespace

bool is_pickle(std::string_view first_bytes) {
  return first_bytes.size() > 1 && first_bytes[0] == '\x80' && first_bytes[1] >= 2 && first_bytes[1] <= 5;
}

analysis::MemoryHistory read_memory_snapshot(ByteSource source, const SnapshotLimits& limits) {
  return SnapshotReader(std::move(source), limits).read();
}

}  // namespace ridgeline::ingest
