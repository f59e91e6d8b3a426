#include "stacks.h"

#include <Python.h>

#include "safe_copy.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace ridgeline::agent {

namespace {

std::size_t mix(std::size_t hash, std::size_t value) {
  hash ^= value + 0x9E3779B97F4A7C15ULL + (hash << 6U) + (hash >> 2U);
  return hash * 0xFF51AFD7ED558CCDULL;
}

/// Whether memory that was a code object when a signal handler read it still is one. A freed object has its
/// reference count or its type overwritten by the allocator's links.
bool is_code(const void* object) {
  PyObject header;
  if (!safe_copy(&header, object, sizeof(header))) {
    return false;
  }
#if defined(__SANITIZE_ADDRESS__)
  // The sanitizer's allocator leaves the type, and puts a small number where the reference count was. It can only be
  // asked about memory that is there.
  if (__asan_address_is_poisoned(object) != 0) {
    return false;
  }
#endif
  return header.ob_type == &PyCode_Type && header.ob_refcnt > 0 && header.ob_refcnt < (Py_ssize_t{1} << 32);
}

}  // namespace

void KnownObjects::keep_code(const void* code) {
  if (seen_.insert(code).second) {
    auto* object = static_cast<PyObject*>(const_cast<void*>(code));
    Py_INCREF(object);
    codes_.push_back(object);
  }
}

void KnownObjects::keep_instance(const void* instance) {
  if (seen_.insert(instance).second) {
    PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(static_cast<PyObject*>(const_cast<void*>(instance))));
    Py_INCREF(type);
    instances_.push_back({instance, type});
  }
}

KnownObjects& known_objects() {
  static auto* objects = new KnownObjects;  // never destroyed: threads may outlive the interpreter's exit
  return *objects;
}

StackTrie::StackTrie() : slots_(1U << 12U) {
  nodes_.push_back({0, {nullptr, nullptr, 0}});
  depths_.push_back(0);
  scratch_.resize(kMaxFrames);
  previous_.reserve(kMaxFrames);
  previous_nodes_.reserve(kMaxFrames);
}

std::uint32_t StackTrie::current(const PyThreadState* thread, const void* module_call, Gil gil_use) {
  const auto [count, below] = read_new_frames(thread, module_call, previous_, scratch_.data(), scratch_.size());
  frames_read_ += count;
  // The part shared with the previous stack needs no look-up.
  const std::size_t depth = below + count;
  std::size_t shared = below;
  while (shared < depth && shared < previous_.size() && previous_[shared].frame == scratch_[depth - 1 - shared].frame) {
    previous_.move(shared, scratch_[depth - 1 - shared].address);
    ++shared;
  }
  std::uint32_t node = shared == 0 ? 0 : previous_nodes_[shared - 1];
  previous_.truncate(shared);
  previous_nodes_.resize(shared);
  for (std::size_t i = shared; i < depth; ++i) {
    const RawFrame& frame = scratch_[depth - 1 - i].frame;
    if (!known(frame.code) || !known(frame.instance)) {
      if (gil_use == Gil::kOnlyIfHeld && PyGILState_Check() == 0) {
        was_cut_ = true;
        break;
      }
      const PyGILState_STATE gil = PyGILState_Ensure();
      known_objects().keep_code(frame.code);
      known_.insert(frame.code);
      if (frame.instance != nullptr) {
        known_objects().keep_instance(frame.instance);
        known_.insert(frame.instance);
      }
      PyGILState_Release(gil);
    }
    node = child(node, frame);
    previous_.push(scratch_[depth - 1 - i]);
    previous_nodes_.push_back(node);
  }
  return node;
}

std::uint32_t StackTrie::intern_interrupted(const RawFrame* frames, std::size_t count) {
  bool all_known = true;
  for (std::size_t i = 0; i < count && all_known; ++i) {
    all_known = known(frames[i].code);
  }
  if (all_known) {
    return descend(frames, count);
  }
  const PyGILState_STATE gil = PyGILState_Ensure();
  for (std::size_t i = count; i-- > 0;) {
    const void* code = frames[i].code;
    if (known(code)) {
      continue;
    }
    if (!known_objects().knows(code) && !is_code(code)) {
      frames += i + 1;
      count -= i + 1;
      break;
    }
    known_objects().keep_code(code);
    known_.insert(code);
  }
  PyGILState_Release(gil);
  return descend(frames, count);
}

std::uint32_t StackTrie::descend(const RawFrame* innermost_first, std::size_t count) {
  std::uint32_t node = 0;
  for (std::size_t i = count; i-- > 0;) {
    RawFrame frame = innermost_first[i];
    if (!known(frame.instance)) {
      frame.instance = nullptr;
    }
    node = child(node, frame);
  }
  return node;
}

std::size_t StackTrie::slot_of(std::uint32_t parent, const RawFrame& frame) const {
  std::size_t hash = mix(parent, reinterpret_cast<std::size_t>(frame.code));
  hash = mix(hash, reinterpret_cast<std::size_t>(frame.instance));
  hash = mix(hash, static_cast<std::size_t>(frame.instruction));
  std::size_t slot = (hash >> 20U) & (slots_.size() - 1);
  while (slots_[slot] != 0) {
    const StackNode& node = nodes_[slots_[slot]];
    if (node.parent == parent && node.frame == frame) {
      break;
    }
    slot = (slot + 1) & (slots_.size() - 1);
  }
  return slot;
}

std::uint32_t StackTrie::child(std::uint32_t parent, const RawFrame& frame) {
  const std::size_t slot = slot_of(parent, frame);
  return slots_[slot] != 0 ? slots_[slot] : insert(parent, frame, slot);
}

std::uint32_t StackTrie::insert(std::uint32_t parent, const RawFrame& frame, std::size_t slot) {
  const auto node = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({parent, frame});
  depths_.push_back(depths_[parent] + 1);
  slots_[slot] = node;
  if (nodes_.size() * 2 > slots_.size()) {
    grow();
  }
  return node;
}

void StackTrie::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
    slots_[slot_of(nodes_[node].parent, nodes_[node].frame)] = node;
  }
}

}  // namespace ridgeline::agent
