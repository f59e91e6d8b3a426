// The Python frames of the calling thread, read without the GIL.
//
// The layout of an interpreter frame is internal to CPython: frames_3NN.h has what differs between minor versions, and
// only frames.cpp looks inside a frame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

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

/// Where the innermost frame of a thread is. While an op is open on the thread, an equal mark means an equal stack.
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

/// A frame and its address.
struct PlacedFrame {
  RawFrame frame;
  const void* address;
};

/// The frames of a thread's previous walk, outermost first, found by address.
class EarlierFrames {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t size() const { return frames_.size(); }
  PlacedFrame& operator[](std::size_t number) { return frames_[number]; }
  const PlacedFrame& operator[](std::size_t number) const { return frames_[number]; }
  void reserve(std::size_t count) { frames_.reserve(count); }
  void truncate(std::size_t size) { frames_.resize(size); }
  void push(const PlacedFrame& frame) {
    numbers_[slot_of(frame.address)] = static_cast<std::uint32_t>(frames_.size());
    frames_.push_back(frame);
  }
  /// The frame is at another address now.
  void move(std::size_t number, const void* address) {
    if (frames_[number].address != address) {
      frames_[number].address = address;
      numbers_[slot_of(address)] = static_cast<std::uint32_t>(number);
    }
  }
  /// A guess: compare the address. Another frame may have taken its slot.
  std::size_t number_of(const void* address) const { return numbers_[slot_of(address)]; }

 private:
  static constexpr std::size_t kSlots = 4096;
  static std::size_t slot_of(const void* address) {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(address) * 0x9E3779B97F4A7C15ULL) >> 52U);
  }
  std::vector<PlacedFrame> frames_;
  std::array<std::uint32_t, kSlots> numbers_{};
};

/// The innermost frames that are always read.
inline constexpr std::size_t kAlwaysRead = 128;
/// After this many consecutive frames at unchanged addresses and instructions, those below are assumed unchanged too.
inline constexpr std::size_t kEnoughMet = 32;

struct FramesRead {
  std::size_t count;  ///< read, innermost first
  std::size_t below;  ///< earlier frames, outermost first, assumed to be below the last one, not read
};

/// As read_frames, but of a deep stack it reads about as many frames as are new since `earlier`: the walk ends once it
/// has found `kEnoughMet` earlier ones in a row beyond the first `kAlwaysRead`. So the cost of a walk is a constant and
/// a part proportional to the calls since the previous walk. A popped frame may have been pushed again at the same
/// address by another caller. We assume that this does not happen to that many frames in a row between two walks; if
/// it did, the lines below them would get the time of another call.
FramesRead read_new_frames(const _ts* thread, const void* module_call, const EarlierFrames& earlier,
                           PlacedFrame* frames, std::size_t capacity);

/// As read_frames, from a signal handler that may have interrupted the interpreter anywhere: frames are copied by the
/// kernel, many with one system call, so a stale pointer ends the walk instead of the process. Async-signal-safe. The
/// pointers may be stale by the time they are used: check them before following them.
std::size_t read_frames_interrupted(const _ts* thread, const void* module_call, RawFrame* frames, std::size_t capacity);
/// System calls that all those walks made.
std::uint64_t pages_read_interrupted();

}  // namespace ridgeline::agent
