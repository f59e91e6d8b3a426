// The Python frames of the calling thread, read without the GIL.
//
// The layout of an interpreter frame is internal to CPython: frames_3NN.h has what differs between minor versions, and
// only frames.cpp looks inside a frame.
#pragma once

#include <cstddef>
#include <cstdint>

struct _object;
struct _ts;

namespace ridgeline::agent {

/// One frame: borrowed pointers that the frame itself keeps alive.
struct RawFrame {
  const void* code;          ///< PyCodeObject*
  const void* instance;      ///< `self`, when the code is Module._call_impl; else null
  std::int32_t instruction;  ///< byte offset into the code of the current instruction, never negative
};

inline bool operator==(const RawFrame& a, const RawFrame& b) {
  return a.code == b.code && a.instance == b.instance && a.instruction == b.instruction;
}

/// Where the innermost frame of a thread stands. While an op is open on the thread, an equal mark means an equal stack.
struct FrameMark {
  const void* frame;
  const void* instruction;
};
inline bool operator==(const FrameMark& a, const FrameMark& b) {
  return a.frame == b.frame && a.instruction == b.instruction;
}
/// The calling thread's mark; contract as for read_frames.
FrameMark innermost_frame(const _ts* thread);

/// Reads the frames of `thread`, innermost first, at most `capacity`; returns how many. `thread` must be the calling
/// thread's own state, outside of the interpreter loop: inside a C call, so that no frame changes. No allocation,
/// no lock, no GIL. `module_call` is the code object of torch.nn.Module._call_impl, or null.
std::size_t read_frames(const _ts* thread, const void* module_call, RawFrame* frames, std::size_t capacity);

/// The same, from a signal handler that may have interrupted the interpreter anywhere: every frame is copied by the
/// kernel, so a stale pointer ends the walk instead of the process. Async-signal-safe. The pointers may be stale
/// by the time they are used: check them before following them.
std::size_t read_frames_interrupted(const _ts* thread, const void* module_call, RawFrame* frames, std::size_t capacity);

}  // namespace ridgeline::agent
