// Whole Python stacks as single integers.
//
// A trie of frames per thread: a stack is the number of its innermost frame's node. The hot path reads the frames
// (frames.h), of a deep stack only those that are new, compares them with the previous stack of the thread from the
// outermost inwards, and looks up only what differs. New code objects and module instances take the slow path, once
// each: the GIL, to keep the code object and the instance's type alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "frames.h"

namespace ridgeline::agent {

/// Whether a function may wait for the interpreter's lock. Not under a lock that a thread with the GIL may wait for,
/// such as that of a device's allocator.
enum class Gil { kMayTake, kOnlyIfHeld };

struct StackNode {
  std::uint32_t parent;
  RawFrame frame;
};

/// Objects that stacks mention, kept for as long as the process lives. Every member needs the GIL.
class KnownObjects {
 public:
  struct Instance {
    const void* address;
    _object* type;  ///< owned reference
  };

  void keep_code(const void* code);
  void keep_instance(const void* instance);
  bool knows(const void* object) const { return seen_.count(object) != 0; }
  const std::vector<_object*>& codes() const { return codes_; }
  const std::vector<Instance>& instances() const { return instances_; }

 private:
  std::unordered_set<const void*> seen_;
  std::vector<_object*> codes_;  ///< owned references
  std::vector<Instance> instances_;
};

KnownObjects& known_objects();

/// Frames that are read of a stack at most: the innermost.
inline constexpr std::size_t kMaxFrames = 2048;

/// The stacks of one thread. Used by that thread only, except that others may read `nodes()` while it is idle.
class StackTrie {
 public:
  StackTrie();

  /// Node of the calling thread's present Python stack; `thread` is its state. `module_call` as in frames.h.
  /// Takes the GIL for objects never seen before, once each; where it may not, the stack ends above the first such.
  std::uint32_t current(const _ts* thread, const void* module_call, Gil gil);

  /// Whether a stack since the last question ended above its innermost frames.
  bool take_cut() { return std::exchange(was_cut_, false); }

  /// Node of a stack read in a signal handler, innermost first; call it outside of the handler. Frames whose code
  /// object is gone end the stack there.
  std::uint32_t intern_interrupted(const RawFrame* frames, std::size_t count);

  /// Number of frames of a node.
  std::uint32_t depth(std::uint32_t node) const { return depths_[node]; }
  const std::vector<StackNode>& nodes() const { return nodes_; }
  /// Frames that `current` has read so far.
  std::uint64_t frames_read() const { return frames_read_; }

 private:
  std::uint32_t child(std::uint32_t parent, const RawFrame& frame);
  std::uint32_t insert(std::uint32_t parent, const RawFrame& frame, std::size_t slot);
  void grow();
  std::size_t slot_of(std::uint32_t parent, const RawFrame& frame) const;
  bool known(const void* object) const { return object == nullptr || known_.count(object) != 0; }
  std::uint32_t descend(const RawFrame* innermost_first, std::size_t count);

  bool was_cut_ = false;
  std::uint64_t frames_read_ = 0;
  std::vector<StackNode> nodes_;
  std::vector<std::uint32_t> depths_;
  std::vector<std::uint32_t> slots_;           ///< open addressing; 0 is an empty slot
  std::vector<PlacedFrame> scratch_;           ///< frames just read, innermost first
  EarlierFrames previous_;                     ///< frames of the previous stack
  std::vector<std::uint32_t> previous_nodes_;  ///< their nodes
  std::unordered_set<const void*> known_;      ///< objects this thread has seen kept
};

}  // namespace ridgeline::agent
