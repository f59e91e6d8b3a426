#include "device_calls.h"

#include <optional>

#include "profiler/agent/cupti/collector.h"
#include "recorder.h"

namespace ridgeline::agent {

namespace {

constexpr std::uint32_t kBegins = 0;
constexpr std::size_t kMostKeptFrames = 256;

/// Keeps the frames of the calling thread for later.
void keep_frames(ThreadBuffer& buffer, std::uint32_t call) {
  if (!buffer.cut_stacks.reserve() || !buffer.unknown_frames.reserve()) {
    return;
  }
  RawFrame frames[kMostKeptFrames];
  const std::size_t count = read_frames(PyGILState_GetThisThreadState(), state().module_call, frames, kMostKeptFrames);
  const auto first = static_cast<std::uint32_t>(buffer.unknown_frames.size());
  if (count == kMostKeptFrames || !buffer.unknown_frames.make_usable(first + count)) {
    return;  // the outer frames are the more useful ones
  }
  for (std::size_t i = 0; i < count; ++i) {
    *buffer.unknown_frames.append() = frames[i];
  }
  if (CutStack* cut = buffer.cut_stacks.append()) {
    *cut = {call, first, static_cast<std::uint32_t>(count)};
  }
}

/// The time stamp is taken last, so that our own work lies outside of the call's span.
void call_begins(ThreadBuffer& buffer, const cupti::CallbackData& data, std::uint32_t function) {
  if (buffer.open_call != recording::kNone) {
    if (data.correlation != buffer.calls[buffer.open_call].correlation && buffer.inner_calls.reserve()) {
      if (InnerCall* inner = buffer.inner_calls.append()) {
        *inner = {data.correlation, buffer.open_call};
      }
    }
    return;
  }
  CallRecord* record = buffer.calls.reserve() ? buffer.calls.append() : nullptr;
  if (record == nullptr) {
    return;
  }
  FrameMark mark{};
  // The caller may hold a lock: that of the caching allocator around cudaMalloc.
  const std::uint32_t node = current_stack(buffer, mark, Gil::kOnlyIfHeld);
  if (buffer.stacks.take_cut()) {
    keep_frames(buffer, static_cast<std::uint32_t>(buffer.calls.size() - 1));
  }
  const std::uint32_t op = buffer.open.empty() ? recording::kNone : buffer.open.back().op;
  *record = {0, 0, data.correlation, function, node, op};
  buffer.open_call = static_cast<std::uint32_t>(buffer.calls.size() - 1);
  if (data.correlation_data != nullptr) {
    *data.correlation_data = buffer.open_call + std::uint64_t{1};
  }
  record->start = ticks();
}

void call_ends(ThreadBuffer& buffer, const cupti::CallbackData& data, std::uint64_t end) {
  const bool is_open_one = buffer.open_call != recording::kNone && data.correlation_data != nullptr &&
                           *data.correlation_data == buffer.open_call + std::uint64_t{1};
  if (is_open_one) {
    buffer.calls[buffer.open_call].end = end;
    buffer.open_call = recording::kNone;
  }
}

/// A node is made inside of the call that is captured.
void note_graph_node(std::uint32_t function, const void* data) {
  const ThreadBuffer* buffer = existing_thread_buffer();
  const bool is_kept = buffer != nullptr && state().capturing && buffer->open_call != recording::kNone;
  cupti::Collector::instance().note_graph_node(
      function, data, is_kept ? std::optional(cupti::CapturedCall{buffer->index, buffer->open_call}) : std::nullopt);
}

}  // namespace

void on_device_call(void* /*user*/, std::uint32_t domain, std::uint32_t function, const void* data) {
  if (domain == cupti::kResourceDomain) {
    note_graph_node(function, data);
    return;
  }
  const std::uint64_t entered = ticks();
  const cupti::Collector& collector = cupti::Collector::instance();
  const std::uint32_t watched = collector.watched().find(domain, function);
  if (!collector.is_recording() || watched == recording::kNone || data == nullptr) {
    return;
  }
  ThreadBuffer& buffer = thread_buffer();
  if (buffer.busy != 0) {
    return;  // the agent's own
  }
  const AgentWork work(buffer);
  const auto& call = *static_cast<const cupti::CallbackData*>(data);
  if (call.site == kBegins) {
    call_begins(buffer, call, watched);
  } else {
    call_ends(buffer, call, entered);
  }
}

void complete_stacks_of_calls(ThreadBuffer& buffer) {
  for (const CutStack& cut : buffer.cut_stacks) {
    buffer.calls[cut.call].node = buffer.stacks.intern_interrupted(&buffer.unknown_frames[cut.first], cut.count);
  }
  buffer.cut_stacks.truncate(0);
  buffer.unknown_frames.truncate(0);
}

std::uint64_t count_launches() {
  const std::vector<cupti::WatchedFunction>& functions = cupti::Collector::instance().watched().all();
  std::uint64_t count = 0;
  for (const ThreadBuffer* buffer : all_thread_buffers()) {
    for (std::size_t call = buffer->kept_calls; call < buffer->calls.size(); ++call) {
      count += functions[buffer->calls[call].function].kind == recording::Call::kLaunch ? 1U : 0U;
    }
  }
  return count;
}

}  // namespace ridgeline::agent
