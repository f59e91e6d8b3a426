#include "ingest/trace_memory.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace ridgeline::ingest {

namespace {

using recording::kNone;
using recording::Stage;

class Writer {
 public:
  Writer(const Trace& trace, std::vector<PendingMemory> events, ColumnsBuilder& builder)
      : trace_(trace), events_(std::move(events)), to_(builder.columns) {}

  void run() {
    add_what_was_there();
    for (const PendingMemory& pending : events_) {
      const TraceEvent& event = trace_.events[pending.event];
      const std::uint64_t bytes = event.bytes > 0 ? static_cast<std::uint64_t>(event.bytes) : 0;
      const bool early = event.start < to_.iteration_start.front();
      write(event.start, event.number, bytes, pending, early ? Stage::kModel : Stage::kIteration, event.reserved);
    }
  }

 private:
  void add_what_was_there() {
    const TraceEvent& first = trace_.events[events_.front().event];
    const std::uint64_t time = std::min(first.start, to_.iteration_start.front());
    const std::uint64_t before = time > 0 ? time - 1 : 0;
    const std::int64_t total = static_cast<std::int64_t>(first.total) - first.bytes;
    std::uint64_t left = total > 0 ? static_cast<std::uint64_t>(total) : 0;
    std::unordered_set<std::uint64_t> seen;
    for (const PendingMemory& pending : events_) {
      const TraceEvent& event = trace_.events[pending.event];
      if (seen.insert(event.number).second && event.bytes < 0) {
        const std::uint64_t bytes = std::min(left, static_cast<std::uint64_t>(-event.bytes));
        left -= bytes;
        if (bytes > 0) {
          write(before, event.number, bytes, {}, Stage::kModel, first.reserved);
        }
      }
    }
    if (left > 0) {
      constexpr std::uint64_t kNowhere = 1;  // no allocator hands this address out
      write(before, kNowhere, left, {}, Stage::kModel, first.reserved);
    }
  }

  void write(std::uint64_t time, std::uint64_t address, std::uint64_t bytes, const PendingMemory& where, Stage stage,
             std::uint64_t reserved) {
    to_.memory_time.push_back(time);
    to_.memory_address.push_back(address);
    to_.memory_bytes.push_back(bytes);
    to_.memory_node.push_back(where.node);
    to_.memory_op.push_back(where.op);
    to_.memory_stage.push_back(static_cast<std::uint8_t>(stage));
    to_.memory_thread.push_back(where.thread);
    to_.memory_reserved.push_back(reserved);
    to_.memory_requested.push_back(0);
    to_.memory_stream.push_back(0);
  }

  const Trace& trace_;
  std::vector<PendingMemory> events_;
  recording::Columns& to_;
};

}  // namespace

MemoryKnown write_memory(const Trace& trace, const std::vector<PendingMemory>& events, std::uint32_t device,
                         ColumnsBuilder& builder) {
  std::vector<PendingMemory> own;
  std::ranges::copy_if(events, std::back_inserter(own),
                       [&](const PendingMemory& pending) { return trace.events[pending.event].device == device; });
  if (own.empty()) {
    return MemoryKnown::kNothing;
  }
  const bool has_totals =
      std::ranges::any_of(own, [&](const PendingMemory& pending) { return trace.events[pending.event].total > 0; });
  std::ranges::stable_sort(own, {}, [&](const PendingMemory& pending) { return trace.events[pending.event].start; });
  Writer(trace, std::move(own), builder).run();
  // The CPU's totals are of what was allocated while memory was profiled: they begin at zero.
  return has_totals && device != kNoNumber ? MemoryKnown::kAll : MemoryKnown::kChanges;
}

}  // namespace ridgeline::ingest
