// The recorder: the state that the collectors write to.
//
// Threads. Each thread owns a ThreadBuffer and is the only one to write to it; the hot path takes no lock. The
// control functions (attach, begin, iteration_begin, ..., finish) are called by the thread that runs the iterations,
// holding the GIL, while no other thread of the step is at work.
#pragma once

#include <Python.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "append_log.h"
#include "clock.h"
#include "names.h"
#include "protocol/recording_format.h"
#include "stacks.h"

namespace ridgeline::agent {

/// Times in all records are ticks (clock.h).
struct OpRecord {
  std::uint64_t start;
  std::uint64_t end;  ///< 0 while the op runs
  std::int64_t sequence;
  std::uint64_t forward_thread;
  std::uint32_t name;
  std::uint32_t node;
  std::uint32_t parent;
  recording::Scope scope;
};

struct MemoryRecord {
  std::uint64_t time;
  const void* address;
  std::uint64_t bytes;  ///< 0: freed
  std::uint32_t node;
  std::uint32_t op;
  recording::Stage stage;
  std::uint16_t thread;
  std::int16_t device;     ///< kHost, or the number of a CUDA device
  std::uint64_t reserved;  ///< what the device's caching allocator holds afterwards; 0 on the host
};
inline constexpr std::int16_t kHost = -1;

/// A call of the device's runtime or driver.
struct CallRecord {
  std::uint64_t start;
  std::uint64_t end;          ///< 0 while the call runs
  std::uint32_t correlation;  ///< what its activities carry
  std::uint32_t function;     ///< number among the watched ones
  std::uint32_t node;
  std::uint32_t op;
};

/// The whole stack of a call whose node ends above its innermost frames: frames [first, first + count) of
/// `unknown_frames`.
struct CutStack {
  std::uint32_t call;
  std::uint32_t first;
  std::uint32_t count;
};

/// A call inside another one: the runtime's function called the driver's. Its activities are the outer call's.
struct InnerCall {
  std::uint32_t correlation;
  std::uint32_t outer;  ///< number of the outer call
};

struct RoleRecord {
  std::uint64_t time;
  const void* address;
  std::uint32_t parameter;
  recording::Role kind;
};

struct Span {
  std::uint64_t start;
  std::uint64_t end;
};

/// A Python stack as the signal handler left it: frames [first, first + count) of `sampled_frames`.
struct RawSample {
  Span cost;
  std::uint32_t first;
  std::uint32_t count;
};

struct Sample {
  std::uint64_t time;
  std::uint32_t node;
};

struct ThreadBuffer {
  explicit ThreadBuffer(std::uint16_t number);

  struct OpenOp {
    const void* function;  ///< the at::RecordFunction, unique while it is open
    FrameMark mark;        ///< of the Python stack that opened it
    std::uint32_t op;
  };

  std::uint16_t index;
  std::uint64_t torch_id = 0;
  StackTrie stacks;
  NameTable names;
  AppendLog<OpRecord> ops;
  AppendLog<MemoryRecord> memory;
  AppendLog<CallRecord> calls;       ///< reserved with the first one
  AppendLog<InnerCall> inner_calls;  ///< likewise
  AppendLog<CutStack> cut_stacks;    ///< likewise
  AppendLog<RawFrame> unknown_frames;
  AppendLog<Span> pauses;
  AppendLog<Sample> samples;
  AppendLog<RawSample> raw_samples;
  AppendLog<RawFrame> sampled_frames;
  std::vector<OpenOp> open;  ///< capacity reserved; innermost last
  std::uint32_t open_call = recording::kNone;
  /// Of `ops`, `calls` and `inner_calls`: those of captured graphs, which come first and stay for all recordings.
  std::size_t kept_ops = 0;
  std::size_t kept_calls = 0;
  std::size_t kept_inner_calls = 0;
  std::uint32_t backward_node = 0;
  bool after_backward = false;
  /// Written by the thread, read by the signal handler that interrupts it.
  volatile std::sig_atomic_t busy = 0;         ///< inside the agent
  volatile std::sig_atomic_t in_function = 0;  ///< the innermost open op runs no Python
  volatile std::sig_atomic_t sampled = 0;      ///< the sampler watches this thread
  volatile std::sig_atomic_t gap_armed = 0;    ///< the next signal is meant for the present gap between ops
  /// While an iteration runs on this thread, which cannot lose its Python state meanwhile; else null: ask.
  const PyThreadState* python = nullptr;
  std::uint64_t gap_since = 0;  ///< where `in_function` is 0: when the gap began
  std::uint64_t gap_place = 0;  ///< and where, as a number
  std::uint64_t long_gap = 0;   ///< ticks from which on a gap is long
};

/// Node of the calling thread's Python stack: the innermost open op's where it has not moved since, else by a walk.
/// 0 where the thread runs no Python.
std::uint32_t current_stack(ThreadBuffer& buffer, FrameMark& mark, Gil gil = Gil::kMayTake);

/// The calling thread's buffer, or null: use the functions below. Initial-exec: the fastest access, and a pointer
/// always fits into what the loader keeps for late libraries.
extern __thread ThreadBuffer* t_buffer __attribute__((tls_model("initial-exec"), visibility("hidden")));

/// Makes the calling thread's buffer (that takes a lock and the heap).
ThreadBuffer& make_thread_buffer();
/// The calling thread's buffer, made at first use.
inline ThreadBuffer& thread_buffer() { return t_buffer != nullptr ? *t_buffer : make_thread_buffer(); }
/// The calling thread's buffer or null. Async-signal-safe.
inline ThreadBuffer* existing_thread_buffer() { return t_buffer; }
/// All buffers, in the order of their threads' first appearance. Caller: a control function.
std::vector<ThreadBuffer*> all_thread_buffers();

/// Marks the thread as inside the agent, so that the signal handler leaves it alone. Does not nest.
class AgentWork {
 public:
  explicit AgentWork(ThreadBuffer& buffer) : buffer_(buffer) { buffer_.busy = 1; }
  ~AgentWork() { buffer_.busy = 0; }
  AgentWork(const AgentWork&) = delete;
  AgentWork& operator=(const AgentWork&) = delete;

 private:
  ThreadBuffer& buffer_;
};

/// The request behind a block of a device's caching allocator.
struct MemoryRequest {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint16_t stream = 0;
};

/// An event of an allocator until the first iteration of all had ended.
struct FirstEvent {
  std::uint64_t time = 0;  ///< ticks
  const void* address = nullptr;
  std::uint64_t bytes = 0;      ///< 0: freed
  std::uint64_t requested = 0;  ///< 0: not known
};

/// What all collectors share. Written by control functions only.
struct State {
  const void* module_call = nullptr;  ///< code object of Module._call_impl
  bool tracking_memory = false;
  bool recording_ops = false;
  bool capturing = false;              ///< of a CUDA graph, outside of a recording
  bool recording_regions = false;      ///< of a device: device_regions.h
  std::int16_t memory_device = kHost;  ///< whose allocator events a recording has
  recording::Stage stage = recording::Stage::kLoad;
  double cost[recording::kCostCount] = {0, 0, 0, 0};
  std::vector<MemoryRequest> requests;  ///< of the recording; those at one address in the order of its blocks
  std::string compiled_code;            ///< of the recording: protocol/compiled_code.h
  std::vector<FirstEvent> first;        ///< for the next recording
};
extern State g_state;
inline State& state() { return g_state; }

/// Turns what the signal handler left on this thread into samples.
void resolve_samples(ThreadBuffer& buffer);

/// From now on, processes that this one forks record nothing.
void record_only_in_this_process();
/// Returns why devices cannot be recorded, where one should be; else nothing.
std::string begin_recording();
/// Makes a recording without operations, of one iteration from `begin` (ticks()) until now: what the allocators did,
/// by the events kept since compact_memory(). A few milliseconds must follow before it is written (TickScale).
void record_past(std::uint64_t begin);
void iteration_begin();
void iteration_end();
void end_recording();
/// Around the capture of a CUDA graph: its operations and calls stay for all recordings to come, in which the graph
/// may be replayed. Nothing during a recording, which has them itself.
void begin_capture();
void end_capture();
/// Forgets all captures: nobody watches devices any more.
void forget_captures();
const std::vector<Span>& iterations();
TickScale::Moment recording_start();

}  // namespace ridgeline::agent
