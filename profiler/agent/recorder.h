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

/// Names of ops as numbers, by content. LibTorch hands out the same pointer for the same operator nearly always: a
/// pointer that was seen before is only compared.
class NameTable {
 public:
  NameTable();
  std::uint32_t intern(const char* name);
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Recent {
    const char* pointer = nullptr;
    std::uint32_t name = 0;
  };
  std::uint32_t look_up(const char* name);
  void grow();
  std::size_t slot_of(const char* name, std::size_t length) const;

  std::vector<Recent> recent_;
  std::vector<std::string> names_;
  std::vector<std::uint32_t> slots_;  ///< open addressing; 0 is an empty slot
};

struct ThreadBuffer {
  explicit ThreadBuffer(std::uint16_t index);

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
  AppendLog<Span> pauses;
  AppendLog<Sample> samples;
  AppendLog<RawSample> raw_samples;
  AppendLog<RawFrame> sampled_frames;
  std::vector<OpenOp> open;  ///< capacity reserved; innermost last
  std::uint32_t backward_node = 0;
  bool after_backward = false;
  /// Written by the thread, read by the signal handler that interrupts it.
  volatile std::sig_atomic_t busy = 0;         ///< inside the agent
  volatile std::sig_atomic_t in_function = 0;  ///< the innermost open op runs no Python
};

/// Node of the calling thread's Python stack: the innermost open op's where it has not moved since, else by a walk.
/// 0 where the thread runs no Python.
std::uint32_t current_stack(ThreadBuffer& buffer, FrameMark& mark);

/// The calling thread's buffer, made at first use (that takes a lock and the heap).
ThreadBuffer& thread_buffer();
/// The calling thread's buffer or null. Async-signal-safe.
ThreadBuffer* existing_thread_buffer();
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

/// What all collectors share. Written by control functions only.
struct State {
  const void* module_call = nullptr;  ///< code object of Module._call_impl
  bool tracking_memory = false;
  bool recording_ops = false;
  recording::Stage stage = recording::Stage::kLoad;
  double cost[recording::kCostCount] = {0, 0, 0, 0};
};
State& state();

/// Turns what the signal handler left on this thread into samples.
void resolve_samples(ThreadBuffer& buffer);

// memory.cpp ---------------------------------------------------------------------------------------------------
/// Puts the observing allocator in front of LibTorch's CPU allocator, or takes it away. Idempotent.
void attach_memory();
void detach_memory();
/// Forgets the allocator events of blocks that are gone.
void compact_memory();
/// Bytes handed out and not returned since attach_memory(). Call after compact_memory() or at any control point.
std::uint64_t live_bytes();

// ops.cpp ------------------------------------------------------------------------------------------------------
void start_ops();
void stop_ops();
/// Measures the cost of one op record at the present stack depth, ns: inside the span, outside of it.
struct OpCost {
  double inside;
  double outside;
};
OpCost measure_op_cost();
double measure_memory_cost();

// sampler.cpp --------------------------------------------------------------------------------------------------
/// Samples the Python frames of the calling thread every millisecond of wall time while no op runs.
/// False when the system has no timer for us; then nothing is sampled.
bool start_sampler();
void stop_sampler();

// counter.cpp --------------------------------------------------------------------------------------------------
struct LineRuns {
  const void* code;
  std::uint32_t line;
  std::uint64_t count;
};
/// Counts line runs of user code and module calls on the calling thread, by the interpreter's trace hook, between
/// these two. `roots` are the folders of user code; `excluded` those inside them that are not. Slow: not for timed
/// or recorded iterations.
void start_counting(std::vector<std::string> roots, std::vector<std::string> excluded);
void stop_counting();
std::vector<LineRuns> line_runs();
std::uint64_t instance_calls(const void* instance);

// roles.cpp ----------------------------------------------------------------------------------------------------
/// The parameters and buffers of the models: a Python list of (name, tensor, is_parameter).
/// Returns false with a Python exception set when the list is not that.
bool set_parameters(PyObject* list);
/// Inputs: a Python list of tensors.
bool set_inputs(PyObject* list);
/// Notes which blocks hold gradients now. No GIL needed.
void mark_gradients();
void mark_parameters_and_inputs();
const std::vector<RoleRecord>& roles();
void clear_roles();
struct Parameter {
  std::string name;
  const void* address;
};
std::vector<Parameter> parameters();

// recorder.cpp -------------------------------------------------------------------------------------------------
/// From now on, processes that this one forks record nothing.
void record_only_in_this_process();
void begin_recording();
void iteration_begin();
void iteration_end();
void end_recording();
const std::vector<Span>& iterations();
TickScale::Moment recording_start();

// writer.cpp ---------------------------------------------------------------------------------------------------
struct InstanceText {
  std::string type;
  std::string name;
  std::string file;
  std::uint32_t line = 0;
};
/// The recording as bytes. `instances` in the order of known_objects().instances().
std::string write_recording(const std::vector<InstanceText>& instances);

}  // namespace ridgeline::agent
