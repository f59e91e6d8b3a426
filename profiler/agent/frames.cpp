// Walks the frames of a thread, whatever their layout.
//
// frames_3NN.h gives the layout of one minor version as a few functions: the innermost frame of a thread, the frame
// that called a frame, its code (null where it runs none: a frame of the interpreter's own), its instruction as a byte
// offset and as an address, and where its first argument stands. None of them follows a pointer out of a frame, except
// position_of and first_argument, to code that is alive.
#define Py_BUILD_CORE  // the layout of frames is CPython's own
#include "frames.h"

#include <Python.h>

#include "safe_copy.h"

#if PY_VERSION_HEX >= 0x030E0000
#error "Ridgeline does not know the frames of this Python; a new minor version needs its frames_3NN.h"
#elif PY_VERSION_HEX >= 0x030D0000
#include "frames_313.h"
#elif PY_VERSION_HEX >= 0x030C0000
#include "frames_312.h"
#elif PY_VERSION_HEX >= 0x030B0000
#include "frames_311.h"
#else
#include "frames_310.h"
#endif

namespace ridgeline::agent {

namespace {

/// Reads what cannot change meanwhile.
struct InPlace {
  template <typename T>
  static const T* read(const T* from, T& /*copy*/) {
    return from;
  }
};

/// Reads what may be gone: null then.
struct ByKernel {
  template <typename T>
  static const T* read(const T* from, T& copy) {
    return safe_copy(&copy, from, sizeof(T)) ? &copy : nullptr;
  }
};

/// `self` of a method. One that an inner function captures lives in a cell.
template <typename Reader>
const void* self_of(const layout::Frame* frame, const PyCodeObject& code) {
  PyObject* slot_copy = nullptr;
  PyObject* const* slot = Reader::read(layout::first_argument(*frame, code), slot_copy);
  if (slot == nullptr || *slot == nullptr) {
    return nullptr;
  }
  PyCellObject cell_copy;
  const auto* cell = Reader::read(reinterpret_cast<const PyCellObject*>(*slot), cell_copy);
  if (cell == nullptr) {
    return nullptr;
  }
  return cell->ob_base.ob_type == &PyCell_Type ? cell->ob_ref : *slot;
}

template <typename Reader>
std::size_t walk(const PyThreadState& thread, const void* module_call, RawFrame* frames, std::size_t capacity) {
  std::size_t count = 0;
  const layout::Frame* at = layout::innermost(thread);
  // Stale frames may form a ring of frames without code: the steps are bounded too.
  for (std::size_t step = 0; at != nullptr && count < capacity && step < 2 * capacity; ++step) {
    layout::Frame copy;
    const layout::Frame* frame = Reader::read(at, copy);
    if (frame == nullptr) {
      break;
    }
    if (const PyCodeObject* code = layout::code_of(*frame)) {
      const std::ptrdiff_t instruction = layout::instruction_of(*frame);
      frames[count++] = {code, code == module_call ? self_of<Reader>(at, *code) : nullptr,
                         instruction < 0 ? 0 : static_cast<std::int32_t>(instruction)};
    }
    at = layout::caller(*frame);
  }
  return count;
}

}  // namespace

FrameMark innermost_frame(const PyThreadState* thread) {
  const layout::Frame* frame = layout::innermost(*thread);
  return {frame, frame == nullptr ? nullptr : layout::position_of(*frame)};
}

std::size_t read_frames(const PyThreadState* thread, const void* module_call, RawFrame* frames, std::size_t capacity) {
  return walk<InPlace>(*thread, module_call, frames, capacity);
}

std::size_t read_frames_interrupted(const PyThreadState* thread, const void* module_call, RawFrame* frames,
                                    std::size_t capacity) {
  return walk<ByKernel>(*thread, module_call, frames, capacity);
}

}  // namespace ridgeline::agent
