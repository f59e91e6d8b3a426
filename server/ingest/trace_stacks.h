// Python functions, modules and call stacks of a trace as frames and stacks of a recording.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ingest/columns_builder.h"
#include "ingest/trace.h"
#include "ingest/trace_files.h"

namespace ridgeline::ingest {

/// A frame of a recording's stack.
struct FrameKey {
  std::uint32_t code = 0;
  std::uint32_t line = 0;
  std::uint32_t instance = 0;
  bool known = false;  ///< else it is no Python function
};

class TraceStacks {
 public:
  /// All must outlive it; what is new is added to `builder`.
  TraceStacks(const Trace& trace, const TraceFiles& files, ColumnsBuilder& builder)
      : trace_(trace),
        files_(files),
        builder_(builder),
        texts_(trace.strings.size(), recording::kNone),
        frames_(trace.strings.size()) {}

  /// The frame of a Python function or a call of a module, which is counted.
  FrameKey frame_of(const TraceEvent& event);
  /// The stack of a string like "inner.py(3): f;outer.py(9): g".
  std::uint32_t call_stack(std::uint32_t string);
  /// The code of Python's function that runs autograd's engine.
  std::uint32_t engine_code();
  /// A string of the trace as one of the recording.
  std::uint32_t text(std::uint32_t string);
  /// How often each module instance was called.
  const std::unordered_map<std::uint64_t, std::uint64_t>& module_calls() const { return module_calls_; }

 private:
  FrameKey module_frame(const TraceEvent& event, std::string_view name);

  const Trace& trace_;
  const TraceFiles& files_;
  ColumnsBuilder& builder_;
  std::vector<std::uint32_t> texts_;                               ///< of the recording, by string of the trace
  std::vector<FrameKey> frames_;                                   ///< by string of the trace
  std::unordered_map<std::uint64_t, std::uint32_t> modules_;       ///< → instance
  std::unordered_map<std::uint32_t, std::uint32_t> call_stacks_;   ///< → stack
  std::unordered_map<std::uint64_t, std::uint64_t> module_calls_;  ///< instance → calls
};

}  // namespace ridgeline::ingest
