// The allocator collector: every block that LibTorch's CPU allocator hands out, on every thread.
//
// An allocator of ours stands in front of the real one. Unlike MemoryReportingInfoBase, which travels in thread-local
// debug info, it sees threads that the user started, needs no lock, and leaves torch.profiler's own slot free.
// A block keeps the deleter it was born with, so putting the real allocator back is safe at any time.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <unordered_map>

#include "clock.h"
#include "memory.h"
#include "recorder.h"

namespace ridgeline::agent {

namespace {

c10::Allocator* g_real = nullptr;
c10::DeleterFnPtr g_real_deleter = nullptr;

void locate(ThreadBuffer& buffer, MemoryRecord& record) {
  if (state().recording_ops && !buffer.open.empty()) {
    record.op = buffer.open.back().op;
  }
  FrameMark mark{};
  record.node = current_stack(buffer, mark);
}

void note(const void* address, std::size_t bytes) {
  ThreadBuffer& buffer = thread_buffer();
  const AgentWork work(buffer);
  MemoryRecord* record = buffer.memory.append();
  if (record == nullptr) {
    return;
  }
  *record = {ticks(), address, bytes, 0, recording::kNone, state().stage, buffer.index};
  if (bytes > 0) {
    locate(buffer, *record);
  }
}

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

void detach_memory() {
  if (state().tracking_memory) {
    state().tracking_memory = false;
    c10::SetAllocator(c10::DeviceType::CPU, g_real, 255);
  }
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
