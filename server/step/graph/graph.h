// The graph of one training iteration: what runs where, for how long, and what it waits for.
//
// After Daydream (Zhu et al., ATC 2020), section 4.2. Times are nanoseconds from the start of the iteration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::step {

using TaskId = std::uint32_t;
inline constexpr TaskId kNoTask = 0xffffffffU;

enum class Kind : std::uint8_t {
  kOperation,      ///< of PyTorch, on the host
  kPython,         ///< on the host, outside of operations
  kCall,           ///< of the device's runtime: launches, copies, others
  kWait,           ///< the end of a host's wait for a device or another thread; it takes no time of its own
  kKernel,         ///< on a device
  kCopy,           ///< on a device: a copy, or memory is set
  kCommunication,  ///< on a link
  kMark,           ///< takes no time: the start and the end of the iteration
};
inline constexpr std::size_t kKindCount = 8;

/// Where tasks run.
struct Resource {
  enum class Type : std::uint8_t { kHost, kDevice, kLink };
  std::string name;  ///< "thread 0", "device 0, stream 7"
  Type type = Type::kHost;
  /// How many tasks run at once at full speed; more share it in equal parts. 0: one at a time, the others queue.
  double shared_by = 0;
};

struct Task {
  std::int64_t duration_ns = 0;
  std::int64_t gap_ns = 0;      ///< the next task in order on the resource begins this much later at least
  TaskId next = kNoTask;        ///< in the recorded order on its resource
  std::uint32_t name = 0;       ///< of Graph::names: the operation, kernel or call
  std::uint32_t line = 0;       ///< of Graph::lines: the innermost user line; 0: none
  std::uint32_t module = 0;     ///< of Graph::modules: the innermost instance; 0: none
  std::uint32_t operation = 0;  ///< of Graph::operations: the innermost one; of an activity, that launched it; 0: none
  std::int32_t priority = 0;    ///< among tasks that wait for the same resource the highest goes first
  std::uint16_t resource = 0;   ///< of Graph::resources
  Kind kind = Kind::kOperation;
  analysis::Phase phase = analysis::Phase::kOther;
};

/// A call of an operation of PyTorch, as it was recorded; calls that it made are inside it.
struct Operation {
  std::uint32_t name = 0;    ///< of Graph::names
  std::uint32_t parent = 0;  ///< of Graph::operations; 0: none
  std::uint32_t op = 0;      ///< of the recording that the graph was made of
};

/// `to` begins `lag_ns` after the end of `from` at the earliest.
struct Dependency {
  TaskId from = 0;
  TaskId to = 0;
  std::int64_t lag_ns = 0;  ///< not negative
};

/// Bytes that a task allocates, or frees when negative.
struct MemoryChange {
  TaskId task = 0;
  float at = 0;  ///< part of the task's duration that has passed: 0 to 1; changes of a task are in order of time
  std::int64_t bytes = 0;
};

/// A value. Tasks and dependencies may be appended and changed; no task is ever taken out, so that ids stay valid: see
/// `without` in changes.h. The dependencies, with `next`, form no cycle.
struct Graph {
  std::vector<Resource> resources;
  std::vector<Task> tasks;
  std::vector<Dependency> dependencies;
  std::vector<Operation> operations;      ///< as they began, each before those inside it; 0 is none
  std::vector<MemoryChange> memory;       ///< grouped by task in no particular order of tasks
  std::int64_t bytes_at_start = 0;        ///< alive when the iteration begins
  std::int64_t recorded_ns = 0;           ///< the iteration by the clock while it was recorded; 0: not of a recording
  TaskId end = kNoTask;                   ///< the iteration ends when this task does
  std::vector<std::string> names;         ///< 0 is empty
  std::vector<analysis::Location> lines;  ///< 0 is no line
  std::vector<std::string> modules;       ///< dotted names of instances, their class where they have none; 0 is empty
};

/// Appends a task behind `after` on its resource and in its order: what followed follows the new task.
TaskId insert_after(Graph& graph, TaskId after, Task task);

/// Appends a task that is in no order on its resource: it waits for its dependencies alone.
TaskId add_task(Graph& graph, Task task);

/// A new resource that runs one task at a time. There are at most 65,535.
std::uint16_t add_link(Graph& graph, const std::string& name);

/// Index of a name, which is appended when it is new. Linear in the names: for few.
std::uint32_t name_index(Graph& graph, const std::string& name);

}  // namespace ridgeline::step
