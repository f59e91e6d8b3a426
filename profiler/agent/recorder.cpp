#include "recorder.h"

#include <pthread.h>

#include <cstring>
#include <mutex>

#include "clock.h"

namespace ridgeline::agent {

namespace {

// Bounds of one recording, per thread. The memory is only reserved: pages are used as they fill.
constexpr std::size_t kMaxOps = 8U << 20U;
constexpr std::size_t kMaxMemory = 16U << 20U;
constexpr std::size_t kMaxPauses = 1U << 20U;
constexpr std::size_t kMaxSamples = 4U << 20U;
constexpr std::size_t kMaxRawSamples = 1U << 16U;
constexpr std::size_t kMaxSampledFrames = 1U << 20U;
constexpr std::size_t kMaxNesting = 4096;
constexpr std::size_t kRecentNames = 1024;

std::mutex& buffers_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::vector<std::unique_ptr<ThreadBuffer>>& buffers() {
  static auto* list = new std::vector<std::unique_ptr<ThreadBuffer>>;  // outlives every thread
  return *list;
}

thread_local ThreadBuffer* t_buffer = nullptr;

std::vector<Span>& iteration_spans() {
  static auto* spans = new std::vector<Span>;
  return *spans;
}

}  // namespace

NameTable::NameTable() : recent_(kRecentNames), names_{""} {}

std::uint32_t NameTable::intern(const char* name) {
  Recent& recent = recent_[(reinterpret_cast<std::size_t>(name) >> 3U) % kRecentNames];
  if (recent.pointer == name && std::strcmp(names_[recent.name].c_str(), name) == 0) {
    return recent.name;
  }
  std::uint32_t index = 1;
  while (index < names_.size() && names_[index] != name) {
    ++index;
  }
  if (index == names_.size()) {
    names_.emplace_back(name);
  }
  recent = {name, index};
  return index;
}

ThreadBuffer::ThreadBuffer(std::uint16_t index)
    : index(index),
      ops(kMaxOps),
      memory(kMaxMemory),
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
}

}  // namespace

void record_only_in_this_process() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, &stop_in_child);
  static_cast<void>(registered);
}

ThreadBuffer& thread_buffer() {
  if (t_buffer == nullptr) {
    const std::lock_guard lock(buffers_mutex());
    buffers().push_back(std::make_unique<ThreadBuffer>(static_cast<std::uint16_t>(buffers().size())));
    t_buffer = buffers().back().get();
  }
  return *t_buffer;
}

ThreadBuffer* existing_thread_buffer() { return t_buffer; }

std::vector<ThreadBuffer*> all_thread_buffers() {
  const std::lock_guard lock(buffers_mutex());
  std::vector<ThreadBuffer*> all;
  for (const auto& buffer : buffers()) {
    all.push_back(buffer.get());
  }
  return all;
}

State& state() {
  static State instance;
  return instance;
}

void resolve_samples(ThreadBuffer& buffer) {
  // The handler adds nothing while `busy` is set.
  if (buffer.raw_samples.size() == 0) {
    return;
  }
  for (const RawSample& raw : buffer.raw_samples) {
    const std::uint32_t node = buffer.stacks.intern_interrupted(&buffer.sampled_frames[raw.first], raw.count);
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

void begin_recording() {
  record_only_in_this_process();
  compact_memory();
  for (ThreadBuffer* buffer : all_thread_buffers()) {
    buffer->ops.truncate(0);
    buffer->pauses.truncate(0);
    buffer->samples.truncate(0);
    buffer->raw_samples.truncate(0);
    buffer->sampled_frames.truncate(0);
    buffer->open.clear();
    buffer->after_backward = false;
  }
  iteration_spans().clear();
  clear_roles();
  mark_parameters_and_inputs();
  start_ops();
}

void iteration_begin() {
  mark_gradients();
  start_sampler();
  iteration_spans().push_back({now_ns(), 0});
}

void iteration_end() {
  const std::uint64_t end = now_ns();
  stop_sampler();
  ThreadBuffer& buffer = thread_buffer();
  const AgentWork work(buffer);
  resolve_samples(buffer);
  mark_gradients();
  if (!iteration_spans().empty()) {
    iteration_spans().back().end = end;
  }
}

void end_recording() { stop_ops(); }

const std::vector<Span>& iterations() { return iteration_spans(); }

}  // namespace ridgeline::agent
