// The record-function collector: forward ops, autograd nodes, and the named ranges of optimizers.
//
// LibTorch calls on_start and on_end on the thread that runs the op, mostly without the GIL. The time stamps are
// taken last in on_start and first in on_end, so that our own work lies outside of the op's span.
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "clock.h"
#include "device_regions.h"
#include "memory.h"
#include "ops.h"
#include "recorder.h"
#include "roles.h"
#include "sampler.h"

namespace ridgeline::agent {

namespace {

at::CallbackHandle g_handle = 0;
bool g_active = false;

recording::Scope scope_of(const at::RecordFunction& function, recording::Scope by_name) {
  switch (function.scope()) {
    case at::RecordScope::BACKWARD_FUNCTION:
      return recording::Scope::kBackward;
    case at::RecordScope::USER_SCOPE:
      return recording::Scope::kUser;
    case at::RecordScope::TORCHSCRIPT_FUNCTION:
      return recording::Scope::kScript;
    default:
      return by_name;
  }
}

void pause_since(ThreadBuffer& buffer, std::uint64_t start) {
  if (Span* pause = buffer.pauses.append()) {
    *pause = {start, ticks()};
  }
}

/// Gradients exist once backward has returned, and once more right before an optimizer consumes them.
bool gradients_are_ready(const ThreadBuffer& buffer, recording::Scope scope, std::uint32_t node, const char* name) {
  if (scope == recording::Scope::kUser) {
    return std::strncmp(name, "Optimizer.step", 14) == 0;
  }
  return buffer.after_backward && scope != recording::Scope::kBackward && buffer.open.empty() &&
         node != buffer.backward_node;
}

/// Whether an op is outermost for work on a device: ranges that the user opened may hold much else and do not count.
bool is_outermost(const ThreadBuffer& buffer, recording::Scope scope) {
  return scope != recording::Scope::kUser && std::all_of(buffer.open.begin(), buffer.open.end(), [&](const auto& open) {
           return buffer.ops[open.op].scope == recording::Scope::kUser;
         });
}

/// Where a gap begins, as a number: after the op, or in it, before the ops that it runs.
std::uint64_t place_after(const OpRecord& op) { return std::uint64_t{op.node} << 32U | op.name; }
std::uint64_t place_in(const OpRecord& op) { return place_after(op) | std::uint64_t{1} << 31U; }

/// Marks the gradients when they have just become ready, and notes that backward runs.
void follow_backward(ThreadBuffer& buffer, recording::Scope scope, std::uint32_t node, const char* name) {
  if (gradients_are_ready(buffer, scope, node, name)) {
    const std::uint64_t start = ticks();
    buffer.after_backward = false;
    mark_gradients();
    pause_since(buffer, start);
  }
  if (scope == recording::Scope::kBackward && buffer.open.empty()) {
    buffer.after_backward = true;
    buffer.backward_node = node;
  }
}

/// An op begins or ends at `time`, which ends the gap before it, if there was one.
void note_gap_until(ThreadBuffer& buffer, std::uint64_t time) {
  if (buffer.sampled != 0 && buffer.in_function == 0 && time - buffer.gap_since >= buffer.long_gap) {
    gap_was_long(buffer, time - buffer.gap_since);
  }
}

/// The op has begun.
void follow_gaps(ThreadBuffer& buffer, const OpRecord& record) {
  note_gap_until(buffer, record.start);
  if (buffer.sampled != 0 && record.scope != recording::Scope::kFunction) {
    gap_begins(buffer, place_in(record), record.start);
  }
  buffer.in_function = record.scope == recording::Scope::kFunction ? 1 : 0;
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  if (!state().recording_ops) {
    return nullptr;  // a forked child
  }
  ThreadBuffer& buffer = thread_buffer();
  const AgentWork work(buffer);
  if (buffer.open.size() == buffer.open.capacity()) {
    return nullptr;  // nested deeper than we follow: the time stays with the enclosing op
  }
  if (buffer.gap_armed != 0) {
    gap_ends(buffer);
  }
  const std::uint64_t entered = buffer.raw_samples.size() != 0 ? ticks() : 0;
  if (entered != 0) {
    resolve_samples(buffer);
    pause_since(buffer, entered);
  }
  FrameMark mark{};
  const std::uint32_t node = current_stack(buffer, mark);
  const char* name = function.name();
  const std::uint32_t name_index = buffer.names.intern(name);
  const recording::Scope scope = scope_of(function, buffer.names.function_scope(name_index));
  follow_backward(buffer, scope, node, name);
  OpRecord* record = buffer.ops.append();
  if (record == nullptr) {
    return nullptr;
  }
  buffer.torch_id = function.threadId();
  *record = {0,
             0,
             function.seqNr(),
             function.forwardThreadId(),
             name_index,
             node,
             buffer.open.empty() ? recording::kNone : buffer.open.back().op,
             scope};
  const auto op = static_cast<std::uint32_t>(buffer.ops.size() - 1);
  if (state().recording_regions && is_outermost(buffer, scope)) {
    region_begin(buffer.index, op);
  }
  buffer.open.push_back({&function, mark, op});
  record->start = ticks();
  follow_gaps(buffer, *record);
  return nullptr;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* /*context*/) {
  const std::uint64_t end = ticks();
  ThreadBuffer* buffer = existing_thread_buffer();
  if (buffer == nullptr) {
    return;
  }
  const AgentWork work(*buffer);
  // Nearly always the innermost; not when its start was dropped, or when it ends on another thread than it began.
  for (std::size_t i = buffer->open.size(); i-- > 0;) {
    if (buffer->open[i].function != &function) {
      continue;
    }
    if (buffer->raw_samples.size() != 0) {
      resolve_samples(*buffer);
      pause_since(*buffer, end);
    }
    for (std::size_t j = i; j < buffer->open.size(); ++j) {
      buffer->ops[buffer->open[j].op].end = end;
    }
    note_gap_until(*buffer, end);
    const std::uint32_t op = buffer->open[i].op;
    buffer->open.resize(i);
    if (state().recording_regions && is_outermost(*buffer, buffer->ops[op].scope)) {
      region_end(buffer->index, op);
    }
    buffer->in_function = i > 0 && buffer->ops[buffer->open[i - 1].op].scope == recording::Scope::kFunction ? 1 : 0;
    if (buffer->sampled != 0 && buffer->in_function == 0) {
      gap_begins(*buffer, place_after(buffer->ops[op]), end);
    }
    return;
  }
}

double median(std::array<double, 15>& values) {
  std::nth_element(values.begin(), values.begin() + 7, values.end());
  return values[7];
}

}  // namespace

void start_ops() {
  if (!g_active) {
    state().recording_ops = true;
    g_handle = at::addGlobalCallback(at::RecordFunctionCallback(&on_start, &on_end)
                                         .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                                                  at::RecordScope::USER_SCOPE, at::RecordScope::TORCHSCRIPT_FUNCTION}));
    g_active = true;
  }
}

void stop_ops() {
  if (g_active) {
    at::removeCallback(g_handle);
    g_active = false;
    state().recording_ops = false;
  }
}

OpCost measure_op_cost() {
  constexpr int kPerBatch = 400;
  ThreadBuffer& buffer = thread_buffer();
  const bool was_active = g_active;
  start_ops();
  std::array<double, 15> inside{};
  std::array<double, 15> whole{};
  const std::size_t first = buffer.ops.size();
  for (std::size_t batch = 0; batch < inside.size(); ++batch) {
    const std::uint64_t start_tick = ticks();
    const std::uint64_t start = now_ns();
    for (int i = 0; i < kPerBatch; ++i) {
      RECORD_FUNCTION("ridgeline::calibration", c10::ArrayRef<const c10::IValue>{});
    }
    whole[batch] = static_cast<double>(now_ns() - start) / kPerBatch;
    std::uint64_t spans = 0;
    for (std::size_t op = first; op < buffer.ops.size(); ++op) {
      spans += buffer.ops[op].end - buffer.ops[op].start;
    }
    const auto elapsed = static_cast<double>(now_ns() - start);
    inside[batch] = static_cast<double>(spans) / kPerBatch * elapsed / static_cast<double>(ticks() - start_tick);
    buffer.ops.truncate(first);
  }
  if (!was_active) {
    stop_ops();
  }
  const double inside_ns = median(inside);
  return {inside_ns, std::max(0.0, median(whole) - inside_ns)};
}

double measure_memory_cost() {
  constexpr int kPerBatch = 400;
  ThreadBuffer& buffer = thread_buffer();
  const auto time_batch = [] {
    c10::Allocator* allocator = c10::GetAllocator(c10::DeviceType::CPU);
    const std::uint64_t start = now_ns();
    for (int i = 0; i < kPerBatch; ++i) {
      const c10::DataPtr block = allocator->allocate(256);
    }
    return static_cast<double>(now_ns() - start) / kPerBatch;
  };
  const bool was_tracking = state().tracking_memory;
  const std::size_t kept = buffer.memory.size();
  std::array<double, 15> cost{};
  for (double& sample : cost) {
    detach_memory();
    const double bare = time_batch();
    attach_memory();
    sample = (time_batch() - bare) / 2;  // an allocation and a release are two events
    buffer.memory.truncate(kept);
  }
  if (!was_tracking) {
    detach_memory();
  }
  return std::max(0.0, median(cost));
}

}  // namespace ridgeline::agent
