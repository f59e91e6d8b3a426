// The operations of a recording that communicate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/values/input.h"
#include "protocol/communication.h"
#include "protocol/communication_trace.h"
#include "protocol/recording.h"

namespace ridgeline::jobs {

/// What the names of operations that communicate begin with.
inline constexpr std::string_view kCallPrefix = "c10d::";

/// A call of the dispatcher's `c10d::…` operators, on the thread that made it.
struct CalledOperation {
  std::size_t op = 0;  ///< of the recording
  CollectiveKind kind = CollectiveKind::kOther;
  bool in_backward = false;  ///< a node of the autograd graph was running: DistributedDataParallel's hooks call there
  bool by_python = false;    ///< torch.distributed's Python functions called it, or functional collectives: what waits
                             ///< for the result is a call of its own; else C++ called it, and waits for it
  std::string file{};        ///< of the innermost user line on its stack; empty: there is none
  int line = 0;
};

/// A collective that a thread of a Gloo group ran.
struct RunOperation {
  std::size_t op = 0;
  std::string name;  ///< "all_reduce"
  bool taken = false;
};

struct RecordedOperations {
  std::vector<CalledOperation> calls;           ///< collectives, as they were called
  std::vector<CalledOperation> point_to_point;  ///< likewise
  std::vector<RunOperation> runs;               ///< as they began
  std::vector<protocol::WaitSpan> waits;        ///< for results of functional collectives, in C++
};

RecordedOperations recorded_operations(const recording::Recording& recording, const analysis::SourceScope& scope);

/// How long the thread of a call waited for it in C++: from the end of the last operation of that thread before
/// `ended_ns`, or of the call itself; 0 where an operation was running at that time.
std::int64_t waited_in_cpp(const recording::Recording& recording, std::size_t call, std::int64_t ended_ns);

/// When the thread of a call begins its first operation after `time_ns`; nothing where one is running at that time, or
/// none follows.
std::optional<std::int64_t> next_operation(const recording::Recording& recording, std::size_t call,
                                           std::int64_t time_ns);

}  // namespace ridgeline::jobs
