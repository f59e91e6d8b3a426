// The recording: what the agent writes and the daemon reads.
//
// One recording covers one batch size: everything alive when it began, and every op, Python sample and allocator
// event of a few iterations. It is a header, a directory, and one array per field ("columns"), little-endian, each
// array 8-byte aligned. The agent is built with the compiler of the user's machine against the user's LibTorch, so
// this header needs nothing but C++17. A reader must treat the bytes as untrusted: see recording.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ridgeline::recording {

inline constexpr char kMagic[8] = {'R', 'I', 'D', 'G', 'E', 'R', 'E', 'C'};
/// Raised on every change of a column's meaning; a reader accepts its own version only.
inline constexpr std::uint32_t kVersion = 2;

/// Index that means "none" in every index column.
inline constexpr std::uint32_t kNone = 0xffffffffU;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t column_count;
  std::uint64_t total_bytes;
};
static_assert(sizeof(Header) == 24);

struct DirectoryEntry {
  std::uint32_t column;
  std::uint32_t element_bytes;
  std::uint64_t count;
  std::uint64_t offset;  ///< from the start of the recording; a multiple of 8
};
static_assert(sizeof(DirectoryEntry) == 24);

/// Every column: its name, its number on the wire and its element type. Times are nanoseconds of one monotonic clock.
// clang-format off
#define RIDGELINE_RECORDING_COLUMNS(COLUMN)                                                                     \
  /* Strings, interned: string i is bytes [ends[i-1], ends[i]). String 0 is empty. */                           \
  COLUMN(string_bytes, 1, std::uint8_t)                                                                         \
  COLUMN(string_ends, 2, std::uint32_t)                                                                         \
  /* Code objects. */                                                                                           \
  COLUMN(code_file, 10, std::uint32_t)                                                                          \
  COLUMN(code_name, 11, std::uint32_t)                                                                          \
  /* How often each line of user code ran in one iteration, counted by the interpreter. */                      \
  COLUMN(run_code, 12, std::uint32_t)                                                                           \
  COLUMN(run_line, 13, std::uint32_t)                                                                           \
  COLUMN(run_count, 14, std::uint64_t)                                                                          \
  /* Module instances. Instance 0 is "none". The place is where the class is defined; calls */               \
  /* are those of one iteration. */                                                                             \
  COLUMN(instance_type, 20, std::uint32_t)                                                                      \
  COLUMN(instance_name, 21, std::uint32_t)                                                                      \
  COLUMN(instance_file, 22, std::uint32_t)                                                                      \
  COLUMN(instance_line, 23, std::uint32_t)                                                                      \
  COLUMN(instance_calls, 24, std::uint64_t)                                                                     \
  /* Stacks: a tree of frames. Node 0 is the empty stack; a parent precedes its children. */                    \
  COLUMN(node_parent, 30, std::uint32_t)                                                                        \
  COLUMN(node_code, 31, std::uint32_t)                                                                          \
  COLUMN(node_instruction, 32, std::uint32_t)                                                                   \
  COLUMN(node_line, 33, std::uint32_t)                                                                          \
  COLUMN(node_instance, 34, std::uint32_t)                                                                      \
  /* Threads, by the number that LibTorch gives them. Thread 0 ran the iterations. */                           \
  COLUMN(thread_torch_id, 40, std::uint64_t)                                                                    \
  COLUMN(iteration_start, 50, std::uint64_t)                                                                    \
  COLUMN(iteration_end, 51, std::uint64_t)                                                                      \
  /* Ops, by thread, each thread by start time. The parent is the enclosing op on the same thread. */           \
  COLUMN(op_thread, 60, std::uint16_t)                                                                          \
  COLUMN(op_scope, 61, std::uint8_t)                                                                            \
  COLUMN(op_name, 62, std::uint32_t)                                                                            \
  COLUMN(op_node, 63, std::uint32_t)                                                                            \
  COLUMN(op_parent, 64, std::uint32_t)                                                                          \
  COLUMN(op_start, 65, std::uint64_t)                                                                           \
  COLUMN(op_end, 66, std::uint64_t)                                                                             \
  /* Forward: the sequence number that the next autograd node gets. Backward: that of the node. -1: none. */    \
  COLUMN(op_sequence, 67, std::int64_t)                                                                         \
  /* Backward: LibTorch's number of the thread that ran the forward op. */                                      \
  COLUMN(op_forward_thread, 68, std::uint64_t)                                                                  \
  /* 1: a further part of the operation before it, which is divided between lines. Empty: none is. */             \
  COLUMN(op_part, 69, std::uint8_t)                                                                             \
  /* Pauses of thread 0 that are the agent's own work: no part of the user's time. */                           \
  COLUMN(pause_start, 70, std::uint64_t)                                                                        \
  COLUMN(pause_end, 71, std::uint64_t)                                                                          \
  /* Python frames of thread 0 seen by the timer while no op ran. */                                            \
  COLUMN(sample_time, 80, std::uint64_t)                                                                        \
  COLUMN(sample_node, 81, std::uint32_t)                                                                        \
  /* Allocator events in order of time. bytes > 0: allocated; 0: freed. Those before the first iteration are */ \
  /* what was alive when the recording began. */                                                                \
  COLUMN(memory_time, 90, std::uint64_t)                                                                        \
  COLUMN(memory_address, 91, std::uint64_t)                                                                     \
  COLUMN(memory_bytes, 92, std::uint64_t)                                                                       \
  COLUMN(memory_node, 93, std::uint32_t)                                                                        \
  COLUMN(memory_op, 94, std::uint32_t)                                                                          \
  COLUMN(memory_stage, 95, std::uint8_t)                                                                        \
  COLUMN(memory_thread, 96, std::uint16_t)                                                                      \
  /* What a caching allocator holds of the device after the event; 0: the allocator keeps nothing. */           \
  COLUMN(memory_reserved, 97, std::uint64_t)                                                                    \
  /* What a caching allocator was asked for, of the bytes that it handed out; 0: not known, or freed. And the */ \
  /* stream that it was asked for, by a number of the recording's own. */                                       \
  COLUMN(memory_requested, 98, std::uint64_t)                                                                   \
  COLUMN(memory_stream, 99, std::uint16_t)                                                                      \
  /* What a caching allocator did until the first iteration of all had ended, in order of time; empty where that */ \
  /* was not kept. Blocks that are alive when the recording begins have the same time and address above. */       \
  COLUMN(first_time, 84, std::uint64_t)                                                                         \
  COLUMN(first_address, 85, std::uint64_t)                                                                      \
  COLUMN(first_bytes, 86, std::uint64_t)                                                                        \
  COLUMN(first_requested, 87, std::uint64_t)                                                                    \
  /* Roles of storages: "at this time the block at this address served as ...". */                              \
  COLUMN(role_time, 100, std::uint64_t)                                                                         \
  COLUMN(role_address, 101, std::uint64_t)                                                                      \
  COLUMN(role_kind, 102, std::uint8_t)                                                                          \
  COLUMN(role_parameter, 103, std::uint32_t)                                                                    \
  /* Parameters and buffers of the models: dotted name, and the block that holds each. */                       \
  COLUMN(parameter_name, 110, std::uint32_t)                                                                    \
  COLUMN(parameter_address, 111, std::uint64_t)                                                                 \
  /* Calls of the device's runtime and driver (CUDA), by thread, each thread by start time. The op is the */          \
  /* innermost one that was open, the node the Python stack. */                                                 \
  COLUMN(call_thread, 130, std::uint16_t)                                                                       \
  COLUMN(call_kind, 131, std::uint8_t)                                                                          \
  COLUMN(call_name, 132, std::uint32_t)                                                                         \
  COLUMN(call_op, 133, std::uint32_t)                                                                           \
  COLUMN(call_node, 134, std::uint32_t)                                                                         \
  COLUMN(call_start, 135, std::uint64_t)                                                                        \
  COLUMN(call_end, 136, std::uint64_t)                                                                          \
  /* What devices did, by start time. The call is the one that asked for it: several activities may have one */ \
  /* (a CUDA graph), or it may be unknown. Bytes are those copied or set; 0 for a kernel. */                    \
  COLUMN(activity_kind, 140, std::uint8_t)                                                                      \
  COLUMN(activity_name, 141, std::uint32_t)                                                                     \
  COLUMN(activity_device, 142, std::uint32_t)                                                                   \
  COLUMN(activity_stream, 143, std::uint32_t)                                                                   \
  COLUMN(activity_call, 144, std::uint32_t)                                                                     \
  COLUMN(activity_start, 145, std::uint64_t)                                                                    \
  COLUMN(activity_end, 146, std::uint64_t)                                                                      \
  COLUMN(activity_bytes, 147, std::uint64_t)                                                                    \
  /* Where code that torch.compile generated came from: compiled_code.h. Empty: nothing was compiled, or it is */   \
  /* already placed. */                                                                                           \
  COLUMN(compiled_code, 150, std::uint8_t)                                                                      \
  /* 1: a further part of an activity, which is divided between lines. Empty: none is. */                          \
  COLUMN(activity_part, 148, std::uint8_t)                                                                      \
  /* Of an activity that a CUDA graph replayed: the call that was captured for it, before the iterations. kNone: */  \
  /* not known, or no graph. Empty: of none. */                                                                   \
  COLUMN(activity_captured, 149, std::uint32_t)                                                                  \
  /* Cost of recording, in nanoseconds: see Cost. */                                                            \
  COLUMN(cost, 120, double)                                                                                     \
  /* What could not be kept: see Loss. */                                                                       \
  COLUMN(loss, 121, std::uint64_t)
// clang-format on

enum class Column : std::uint32_t {
#define RIDGELINE_COLUMN(name, number, type) name = number,
  RIDGELINE_RECORDING_COLUMNS(RIDGELINE_COLUMN)
#undef RIDGELINE_COLUMN
};

/// Kind of an op: at::RecordScope, reduced to what matters here.
enum class Scope : std::uint8_t {
  kFunction = 0,  ///< of LibTorch's dispatcher: runs no Python
  kBackward = 1,  ///< a node of the autograd graph; and, around it, the node with its hooks: that has no sequence
  kUser = 2,      ///< a range that Python named
  kScript = 3,    ///< a function of TorchScript, or a part of one
  kPython = 4,    ///< an operation that Python opened: an autograd Function, a graph of torch.compile
};
inline constexpr std::uint64_t kScopeCount = 5;

/// What the runner was doing when a block was allocated.
enum class Stage : std::uint8_t { kLoad = 0, kModel = 1, kInput = 2, kPrepare = 3, kIteration = 4 };
inline constexpr std::uint8_t kStageCount = 5;

enum class Role : std::uint8_t { kParameter = 0, kBuffer = 1, kGradient = 2, kInput = 3 };
inline constexpr std::uint8_t kRoleCount = 4;

/// Kind of a call of the device's runtime or driver.
enum class Call : std::uint8_t {
  kOther = 0,
  kLaunch = 1,       ///< asks for kernels: also a CUDA graph
  kCopy = 2,         ///< asks for a copy or for setting memory; it may wait for it
  kSynchronise = 3,  ///< waits for a device, a stream or an event
};
inline constexpr std::uint8_t kCallCount = 4;

enum class Activity : std::uint8_t {
  kKernel = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,  ///< also from one device to another
  kSet = 4,
};
inline constexpr std::uint8_t kActivityCount = 5;

/// Indices into the column `cost`, calibrated when the agent starts.
enum class Cost : std::uint8_t {
  kInsideOp = 0,   ///< inside the span of every op
  kOutsideOp = 1,  ///< around the span of every op, in what encloses it
  kPerFrame = 2,   ///< around the span, per Python frame on its stack
  kPerMemory = 3,  ///< per allocator event
};
inline constexpr std::size_t kCostCount = 4;

/// Indices into the column `loss`: counts of what was dropped because a bound was reached.
enum class Loss : std::uint8_t { kOps = 0, kMemory = 1, kSamples = 2, kFrames = 3, kActivities = 4 };
inline constexpr std::size_t kLossCount = 5;

}  // namespace ridgeline::recording
