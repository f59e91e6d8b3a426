#include "recorder.h"
#include "device_regions.h"
#include "gloo_messages.h"
#include "memory.h"
#include "ops.h"
#include "roles.h"
#include "sampler.h"

#include <pthread.h>

#include <mutex>

#include "clock.h"
#include "device_calls.h"
#include "profiler/agent/cupti/collector.h"

namespace ridgeline::agent {

namespace {

// Bounds of one recording, per thread. The memory is only reserved: pages are used as they fill.
constexpr std::size_t kMaxOps = 8U << 20U;
constexpr std::size_t kMaxMemory = 16U << 20U;
constexpr std::size_t kMaxCalls = 4U << 20U;
constexpr std::size_t kMaxPauses = 1U << 20U;
constexpr std::size_t kMaxSamples = 4U << 20U;
constexpr std::size_t kMaxRawSamples = 1U << 16U;
constexpr std::size_t kMaxSampledFrames = 1U << 20U;
constexpr std::size_t kMaxNesting = 4096;
constexpr std::size_t kReadyBytes = 16U << 20U;  ///< of the main logs, made usable before a recording begins

std::mutex& buffers_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::vector<std::unique_ptr<ThreadBuffer>>& buffers() {
  static auto* list = new std::vector<std::unique_ptr<ThreadBuffer>>;  // outlives every thread
  return *list;
}

TickScale::Moment g_recording_start{};

std::vector<Span>& iteration_spans() {
  static auto* spans = new std::vector<Span>;
  return *spans;
}

}  // namespace

ThreadBuffer::ThreadBuffer(std::uint16_t number)
    : index(number),
      ops(kMaxOps),
      memory(kMaxMemory),
      calls(kMaxCalls),
      inner_calls(kMaxCalls),
      cut_stacks(kMaxRawSamples),
      unknown_frames(kMaxSampledFrames),
      pauses(kMaxPauses),
      samples(kMaxSamples),
      raw_samples(kMaxRawSamples),
      sampled_frames(kMaxSampledFrames) {
  open.reserve(kMaxNesting);
  ops.reserve();
  memory.reserve();
  pauses.reserve();
}

namespace {

/// A forked child, such as a data loader's worker, records nothing: its logs would never be read.
void stop_in_child() {
  state().tracking_memory = false;
  state().recording_ops = false;
  forget_sampler();
  stop_messages_in_child();
  cupti::Collector::instance().stop_in_child();
}

}  // namespace

void record_only_in_this_process() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, &stop_in_child);
  static_cast<void>(registered);
}

__thread ThreadBuffer* t_buffer = nullptr;
State g_state;

ThreadBuffer& make_thread_buffer() {
  const std::lock_guard lock(buffers_mutex());
  buffers().push_back(std::make_unique<ThreadBuffer>(static_cast<std::uint16_t>(buffers().size())));
  t_buffer = buffers().back().get();
  return *t_buffer;
}

std::vector<ThreadBuffer*> all_thread_buffers() {
  const std::lock_guard lock(buffers_mutex());
  std::vector<ThreadBuffer*> all;
  for (const auto& buffer : buffers()) {
    all.push_back(buffer.get());
  }
  return all;
}

std::uint32_t current_stack(ThreadBuffer& buffer, FrameMark& mark, Gil gil) {
  const PyThreadState* thread = buffer.python != nullptr ? buffer.python : PyGILState_GetThisThreadState();
  if (thread == nullptr) {
    mark = {nullptr, nullptr};
    return 0;
  }
  mark = innermost_frame(thread);
  if (!buffer.open.empty() && buffer.open.back().mark == mark) {
    return buffer.ops[buffer.open.back().op].node;
  }
  return buffer.stacks.current(thread, state().module_call, gil);
}

void resolve_samples(ThreadBuffer& buffer) {
  // The handler adds nothing while `busy` is set.
  if (buffer.raw_samples.size() == 0) {
    return;
  }
  std::uint32_t node = 0;
  const RawSample* earlier = nullptr;
  for (const RawSample& raw : buffer.raw_samples) {
    if (earlier == nullptr || earlier->first != raw.first || earlier->count != raw.count) {
      node = buffer.stacks.intern_interrupted(&buffer.sampled_frames[raw.first], raw.count);
    }
    earlier = &raw;
    if (Sample* sample = buffer.samples.append()) {
      *sample = {raw.cost.start, node};
    }
    if (Span* pause = buffer.pauses.append()) {
      *pause = raw.cost;
    }
  }
  buffer.raw_samples.truncate(0);
  buffer.sampled_frames.truncate(0);
}

namespace {

/// Forgets the last recording, but for what was captured.
void clear_buffers() {
  for (ThreadBuffer* buffer : all_thread_buffers()) {
    buffer->ops.truncate(buffer->kept_ops);
    buffer->calls.truncate(buffer->kept_calls);
    buffer->inner_calls.truncate(buffer->kept_inner_calls);
    buffer->cut_stacks.truncate(0);
    buffer->unknown_frames.truncate(0);
    buffer->open_call = recording::kNone;
    buffer->pauses.truncate(0);
    buffer->samples.truncate(0);
    buffer->raw_samples.truncate(0);
    buffer->sampled_frames.truncate(0);
    buffer->open.clear();
    buffer->after_backward = false;
  }
}

}  // namespace

void begin_capture() {
  if (state().recording_ops || !cupti::Collector::instance().is_attached()) {
    return;
  }
  record_only_in_this_process();
  clear_buffers();
  state().capturing = true;
  cupti::Collector::instance().begin_capture();
  start_ops();
}

void end_capture() {
  if (!state().capturing) {
    return;
  }
  stop_ops();
  cupti::Collector::instance().end_capture();
  state().capturing = false;
  for (ThreadBuffer* buffer : all_thread_buffers()) {
    complete_stacks_of_calls(*buffer);
    buffer->kept_ops = buffer->ops.size();
    buffer->kept_calls = buffer->calls.size();
    buffer->kept_inner_calls = buffer->inner_calls.size();
  }
}

void forget_captures() {
  for (ThreadBuffer* buffer : all_thread_buffers()) {
    buffer->kept_ops = buffer->kept_calls = buffer->kept_inner_calls = 0;
  }
}

void record_past(std::uint64_t begin) {
  clear_buffers();
  iteration_spans().clear();
  g_recording_start = TickScale::now();
  clear_roles();
  mark_parameters_and_inputs();
  mark_gradients();
  iteration_spans().push_back({begin, ticks()});
}

std::string begin_recording() {
  record_only_in_this_process();
  compact_memory();
  clear_buffers();
  iteration_spans().clear();
  ThreadBuffer& main = thread_buffer();
  main.ops.make_usable(kReadyBytes / sizeof(OpRecord));
  main.memory.make_usable(main.memory.size() + kReadyBytes / sizeof(MemoryRecord));
  g_recording_start = TickScale::now();
  clear_roles();
  mark_parameters_and_inputs();
  begin_regions();
  std::string problem = cupti::Collector::instance().begin();
  start_ops();
  return problem;
}

void iteration_begin() {
  mark_gradients();
  begin_regions_of_iteration();
  thread_buffer().python = PyGILState_GetThisThreadState();
  start_sampler();
  iteration_spans().push_back({ticks(), 0});
}

void iteration_end() {
  const std::uint64_t end = ticks();
  stop_sampler(true);
  ThreadBuffer& buffer = thread_buffer();
  buffer.python = nullptr;
  const AgentWork work(buffer);
  resolve_samples(buffer);
  complete_stacks_of_calls(buffer);
  mark_gradients();
  if (!iteration_spans().empty()) {
    iteration_spans().back().end = end;
  }
}

void end_recording() {
  stop_sampler(false);  // the last iteration may have ended by an exception
  thread_buffer().python = nullptr;
  stop_ops();
  cupti::Collector::instance().end();
  end_regions();
  for (ThreadBuffer* buffer : all_thread_buffers()) {
    complete_stacks_of_calls(*buffer);
  }
  if (!iteration_spans().empty() && iteration_spans().back().end == 0) {
    iteration_spans().pop_back();  // it was not ended, and is none of the recording
  }
}

TickScale::Moment recording_start() { return g_recording_start; }

const std::vector<Span>& iterations() { return iteration_spans(); }

}  // namespace ridgeline::agent
