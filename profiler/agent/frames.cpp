// Walks the frames of a thread, independently of their layout.
//
// frames_3NN.h gives the layout of one minor version as a few functions: the innermost frame of a thread, the frame
// that called a frame, its code (null where it runs none: a frame of the interpreter's own), its instruction as a byte
// offset and as an address, where its first argument is stored, and the object in such a slot. None of them follows a
// pointer out of a frame, except position_of and first_argument, to code that is alive.
#define Py_BUILD_CORE  // the layout of frames is CPython's own
#include "frames.h"

#include <Python.h>

#include "page_reader.h"

#if PY_VERSION_HEX >= 0x030F0000
#error "Ridgeline does not know the frames of this Python; a new minor version needs its frames_3NN.h"
#elif PY_VERSION_HEX >= 0x030E0000
#include "frames_314.h"
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

/// Used by the signal handler, which runs on one thread at a time and does not interrupt itself.
PageReader g_pages;

/// Reads what may be gone: null then.
struct ByKernel {
  template <typename T>
  static const T* read(const T* from, T& copy) {
    return g_pages.read(&copy, from, sizeof(T)) ? &copy : nullptr;  // NOLINT(bugprone-sizeof-expression): a pointer too
  }
};

/// `self` of a method. One that an inner function captures lives in a cell.
template <typename Reader>
const void* self_of(const layout::Frame* frame, const PyCodeObject& code) {
  PyObject* slot_copy = nullptr;
  PyObject* const* slot = Reader::read(layout::first_argument(*frame, code), slot_copy);
  PyObject* const object = slot == nullptr ? nullptr : layout::object_of(*slot);
  if (object == nullptr) {
    return nullptr;
  }
  PyCellObject cell_copy;
  const auto* cell = Reader::read(reinterpret_cast<const PyCellObject*>(object), cell_copy);
  if (cell == nullptr) {
    return nullptr;
  }
  return cell->ob_base.ob_type == &PyCell_Type ? cell->ob_ref : object;
}

/// Calls `visit(frame, address)` for each frame that runs code, innermost first, until it returns false.
template <typename Reader, typename Visit>
void walk(const PyThreadState& thread, const void* module_call, std::size_t capacity, Visit visit) {
  const layout::Frame* at = layout::innermost(thread);
  // Stale frames may form a ring of frames without code: the steps are bounded too.
  for (std::size_t step = 0; at != nullptr && step < 2 * capacity; ++step) {
    layout::Frame copy;
    const layout::Frame* frame = Reader::read(at, copy);
    if (frame == nullptr) {
      return;
    }
    if (const PyCodeObject* code = layout::code_of(*frame)) {
      const std::ptrdiff_t instruction = layout::instruction_of(*frame);
      if (!visit(RawFrame{code, code == module_call ? self_of<Reader>(at, *code) : nullptr,
                          instruction < 0 ? 0 : static_cast<std::int32_t>(instruction)},
                 at)) {
        return;
      }
    }
    at = layout::caller(*frame);
  }
}

}  // namespace

FrameMark innermost_frame(const PyThreadState* thread) {
  const layout::Frame* frame = layout::innermost(*thread);
  return {frame, frame == nullptr ? nullptr : layout::position_of(*frame)};
}

std::size_t read_frames(const PyThreadState* thread, const void* module_call, RawFrame* frames, std::size_t capacity) {
  std::size_t count = 0;
  walk<InPlace>(*thread, module_call, capacity, [&](const RawFrame& frame, const void* /*address*/) {
    frames[count++] = frame;
    return count < capacity;
  });
  return count;
}

FramesRead read_new_frames(const PyThreadState* thread, const void* module_call, const EarlierFrames& earlier,
                           PlacedFrame* frames, std::size_t capacity) {
  FramesRead read{0, 0};
  std::size_t run = 0;                     // earlier frames found, in a row
  std::size_t met = EarlierFrames::kNone;  // number of the last of them
  walk<InPlace>(*thread, module_call, capacity, [&](const RawFrame& frame, const void* address) {
    frames[read.count++] = {frame, address};
    if (read.count > kAlwaysRead) {
      met = run > 0 && met > 0 ? met - 1 : earlier.number_of(address);
      const bool same = met < earlier.size() && earlier[met].address == address && earlier[met].frame == frame;
      run = same ? run + 1 : 0;
      if (run == kEnoughMet) {
        read.below = met;
        return false;
      }
    }
    return read.count < capacity;
  });
  return read;
}

std::size_t read_frames_interrupted(const PyThreadState* thread, const void* module_call, RawFrame* frames,
                                    std::size_t capacity) {
  std::size_t count = 0;
  g_pages.clear();
  walk<ByKernel>(*thread, module_call, capacity, [&](const RawFrame& frame, const void* /*address*/) {
    frames[count++] = frame;
    return count < capacity;
  });
  return count;
}

std::uint64_t pages_read_interrupted() { return g_pages.calls(); }

}  // namespace ridgeline::agent
