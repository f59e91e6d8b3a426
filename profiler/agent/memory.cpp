// The allocator collector: every block that LibTorch's CPU allocator hands out, on every thread.
//
// An allocator of ours stands in front of the real one. Unlike MemoryReportingInfoBase, which travels in thread-local
// debug info, it sees threads that the user started, needs no lock, and leaves torch.profiler's own slot free.
// A block keeps the deleter it was born with, so putting the real allocator back is safe at any time.
//
// A device's caching allocator cannot be replaced that way: LibTorch calls it directly. Its events come through
// MemoryReportingInfoBase, the only way without CUDA's headers.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>

#include "clock.h"
#include "memory.h"
#include "recorder.h"
#include "requests.h"

namespace ridgeline::agent {

namespace {

c10::Allocator* g_real = nullptr;
c10::DeleterFnPtr g_real_deleter = nullptr;

std::shared_ptr<c10::DebugInfoBase> g_reporter;  ///< while it is pushed

void locate(ThreadBuffer& buffer, MemoryRecord& record, Gil gil) {
  if (state().recording_ops && !buffer.open.empty()) {
    record.op = buffer.open.back().op;
  }
  FrameMark mark{};
  record.node = current_stack(buffer, mark, gil);
}

void note(const void* address, std::uint64_t bytes, std::int16_t device = kHost, std::uint64_t reserved = 0) {
  ThreadBuffer& buffer = thread_buffer();
  const AgentWork work(buffer);
  MemoryRecord* record = buffer.memory.append();
  if (record == nullptr) {
    return;
  }
  *record = {ticks(), address, bytes, 0, recording::kNone, state().stage, buffer.index, device, reserved};
  if (bytes > 0) {
    // A device's allocator reports under its lock, which a thread with the GIL may be waiting for.
    locate(buffer, *record, device == kHost ? Gil::kMayTake : Gil::kOnlyIfHeld);
    buffer.stacks.take_cut();  // a stack that ends early is good enough here
  }
}

/// LibTorch casts the object in that slot to ProfilerStateBase and reads its configuration, so it has to be one.
class DeviceReporter final : public torch::profiler::impl::ProfilerStateBase {
 public:
  DeviceReporter()
      : ProfilerStateBase(torch::profiler::impl::ProfilerConfig(torch::profiler::impl::ProfilerState::Disabled)) {}
  torch::profiler::impl::ActiveProfilerType profilerType() override {
    return torch::profiler::impl::ActiveProfilerType::NONE;
  }
  void reportMemoryUsage(void* address, std::int64_t bytes, std::size_t /*allocated*/, std::size_t reserved,
                         c10::Device device) override {
    if (state().tracking_memory && device.is_cuda() && address != nullptr && bytes != 0) {
      note(address, bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0, device.index(), reserved);
    }
  }
  /// For the CPU's allocator, which then does not report.
  bool memoryProfilingEnabled() const override { return false; }
};

void release(void* address) {
  if (state().tracking_memory) {
    note(address, 0);
  }
  g_real_deleter(address);
}

class ObservingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::DataPtr block = g_real->allocate(bytes);
    void* address = block.get();
    // Only plain blocks of the real allocator can be given another deleter.
    if (address == nullptr || bytes == 0 || !block.compare_exchange_deleter(g_real_deleter, &release)) {
      return block;
    }
    if (state().tracking_memory) {
      note(address, bytes);
    }
    return block;
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  bool is_simple_data_ptr(const c10::DataPtr& block) const override { return block.get() == block.get_context(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
};

std::vector<MemoryRecord> merged_events() {
  std::vector<MemoryRecord> events;
  for (const ThreadBuffer* buffer : all_thread_buffers()) {
    events.insert(events.end(), buffer->memory.begin(), buffer->memory.end());
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const MemoryRecord& a, const MemoryRecord& b) { return a.time < b.time; });
  return events;
}

std::unordered_map<const void*, MemoryRecord> live_blocks() {
  std::unordered_map<const void*, MemoryRecord> live;
  for (const MemoryRecord& event : merged_events()) {
    if (event.bytes > 0) {
      live[event.address] = event;
    } else {
      live.erase(event.address);
    }
  }
  return live;
}

}  // namespace

void attach_memory() {
  static auto* observer = new ObservingAllocator;
  record_only_in_this_process();
  if (state().tracking_memory) {
    return;
  }
  g_real = c10::GetAllocator(c10::DeviceType::CPU);
  g_real_deleter = g_real->raw_deleter();
  if (g_real_deleter == nullptr) {
    return;  // an allocator without plain blocks: nothing can be observed
  }
  c10::SetAllocator(c10::DeviceType::CPU, observer, 255);
  state().tracking_memory = true;
}

void attach_device_memory() {
  if (g_reporter == nullptr) {
    g_reporter = std::make_shared<DeviceReporter>();
    c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, g_reporter);
  }
}

bool detach_device_memory() {
  if (g_reporter == nullptr || c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE) != g_reporter.get()) {
    return false;  // another thread's, perhaps
  }
  try {
    c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
  } catch (const std::exception&) {
    return false;  // something of another kind lies above it
  }
  g_reporter.reset();
  return true;
}

void detach_memory() {
  if (state().tracking_memory) {
    state().tracking_memory = false;
    c10::SetAllocator(c10::DeviceType::CPU, g_real, 255);
  }
}

void keep_first_events() {
  state().first.clear();
  for (const MemoryRecord& event : merged_events()) {
    if (event.device == state().memory_device) {
      state().first.push_back({event.time, event.address, event.bytes, 0});
    }
  }
  RequestsByAddress requests(state().requests);
  for (std::size_t i = state().first.size(); i-- > 0;) {
    FirstEvent& event = state().first[i];
    if (const MemoryRequest* request = requests.take(event.address, event.bytes)) {
      event.requested = request->bytes;
    }
  }
}

std::uint64_t peak_bytes() { return alive_bytes({0}).front().most; }

std::vector<AliveBytes> alive_bytes(const std::vector<std::uint64_t>& moments) {
  std::unordered_map<const void*, std::uint64_t> live;
  std::uint64_t bytes = 0;
  std::vector<AliveBytes> alive;
  const auto pass_until = [&](std::uint64_t time) {
    while (alive.size() < moments.size() && moments[alive.size()] <= time) {
      alive.push_back({bytes, bytes});
    }
  };
  for (const MemoryRecord& event : merged_events()) {
    if (event.device != state().memory_device) {
      continue;
    }
    pass_until(event.time);
    std::uint64_t& block = live[event.address];
    bytes += event.bytes - block;  // of a release, 0: modulo 2^64 a subtraction
    block = event.bytes;
    if (!alive.empty()) {
      alive.back().most = std::max(alive.back().most, bytes);
    }
  }
  pass_until(UINT64_MAX);
  return alive;
}

std::vector<std::int64_t> requests_since(std::uint64_t moment, const std::vector<std::uint64_t>& operations,
                                         std::optional<std::uint64_t> mark) {
  struct Block {
    std::int64_t bytes;
    std::uint64_t time;
    bool is_scratch = false;  // of one operation
    std::int64_t number = 0;  // among those that are not
  };
  constexpr auto kMark = std::numeric_limits<std::int64_t>::max();
  std::vector<Block> blocks;
  std::vector<std::int64_t> order;  // a block's index is requested, or ~index freed; or kMark
  std::unordered_map<const void*, std::size_t> alive;
  const auto operations_until = [&](std::uint64_t time) {
    return std::upper_bound(operations.begin(), operations.end(), time) - operations.begin();
  };
  const auto free_block = [&](const MemoryRecord& event) {
    if (const auto found = alive.find(event.address); found != alive.end()) {
      Block& block = blocks[found->second];
      block.is_scratch = !operations.empty() && operations_until(block.time) == operations_until(event.time);
      order.push_back(~static_cast<std::int64_t>(found->second));
      alive.erase(found);
    }
  };
  const auto mark_until = [&](std::uint64_t time) {
    if (mark.has_value() && *mark <= time) {
      order.push_back(kMark);
      mark.reset();
    }
  };
  for (const MemoryRecord& event : merged_events()) {
    if (event.device == state().memory_device && event.time >= moment) {
      mark_until(event.time);
      free_block(event);  // of an allocation: a release that was lost
      if (event.bytes > 0) {
        order.push_back(static_cast<std::int64_t>(blocks.size()));
        alive.emplace(event.address, blocks.size());
        blocks.push_back({static_cast<std::int64_t>(event.bytes), event.time});
      }
    }
  }
  mark_until(std::numeric_limits<std::uint64_t>::max());
  std::vector<std::int64_t> requests;
  std::int64_t count = 0;
  for (const std::int64_t each : order) {
    if (each == kMark) {
      requests.push_back(0);
      continue;
    }
    Block& block = blocks[static_cast<std::size_t>(each < 0 ? ~each : each)];
    if (!block.is_scratch) {
      block.number = each < 0 ? block.number : count++;
      requests.push_back(each < 0 ? ~block.number : block.bytes);
    }
  }
  return requests;
}

void compact_memory() {
  const auto live = live_blocks();
  for (ThreadBuffer* buffer : all_thread_buffers()) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < buffer->memory.size(); ++i) {
      MemoryRecord record = buffer->memory[i];
      const auto found = live.find(record.address);
      if (record.bytes > 0 && found != live.end() && found->second.time == record.time &&
          found->second.thread == record.thread) {
        record.op = recording::kNone;  // the ops of earlier recordings are gone
        buffer->memory[kept++] = record;
      }
    }
    buffer->memory.truncate(kept);
  }
}

}  // namespace ridgeline::agent
