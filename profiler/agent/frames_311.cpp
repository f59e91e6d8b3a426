// CPython 3.11: frames are _PyInterpreterFrame structs on the thread's data stack, linked by `previous`.
// Source: Include/internal/pycore_frame.h and Python/ceval.c of CPython 3.11.
#define Py_BUILD_CORE
#include <Python.h>
#include <internal/pycore_frame.h>

#include "frames.h"
#include "safe_copy.h"

static_assert(PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000, "frames_311.cpp is for CPython 3.11");

namespace ridgeline::agent {

const int kFramesMinor = 11;

namespace {

constexpr std::ptrdiff_t kCodeStart = offsetof(PyCodeObject, co_code_adaptive);

std::int32_t instruction_of(const _PyInterpreterFrame& frame) {
  const char* start = reinterpret_cast<const char*>(frame.f_code) + kCodeStart;
  const std::ptrdiff_t offset = reinterpret_cast<const char*>(frame.prev_instr) - start;
  return offset < 0 ? 0 : static_cast<std::int32_t>(offset);
}

/// The first argument; _call_impl's inner function captures it, so it lives in a cell.
const void* self_of(const _PyInterpreterFrame& frame) {
  PyObject* self = frame.localsplus[0];
  if (self != nullptr && Py_IS_TYPE(self, &PyCell_Type)) {
    self = reinterpret_cast<PyCellObject*>(self)->ob_ref;
  }
  return self;
}

}  // namespace

FrameMark innermost_frame(const PyThreadState* thread) {
  const _PyInterpreterFrame* frame = thread->cframe == nullptr ? nullptr : thread->cframe->current_frame;
  return {frame, frame == nullptr ? nullptr : static_cast<const void*>(frame->prev_instr)};
}

std::size_t read_frames(const PyThreadState* thread, const void* module_call, RawFrame* frames, std::size_t capacity) {
  if (thread->cframe == nullptr) {
    return 0;
  }
  std::size_t count = 0;
  for (const _PyInterpreterFrame* frame = thread->cframe->current_frame; frame != nullptr && count < capacity;
       frame = frame->previous) {
    const bool module = frame->f_code == module_call;
    frames[count++] = {frame->f_code, module ? self_of(*frame) : nullptr, instruction_of(*frame)};
  }
  return count;
}

std::size_t read_frames_interrupted(const PyThreadState* thread, const void* module_call, RawFrame* frames,
                                    std::size_t capacity) {
  if (thread->cframe == nullptr) {
    return 0;
  }
  std::size_t count = 0;
  _PyInterpreterFrame copy;
  for (const _PyInterpreterFrame* frame = thread->cframe->current_frame; frame != nullptr && count < capacity;
       frame = copy.previous) {
    if (!safe_copy(&copy, frame, sizeof(copy)) || copy.f_code == nullptr) {
      break;
    }
    const void* self = nullptr;
    PyCellObject cell;
    if (copy.f_code == module_call && copy.localsplus[0] != nullptr &&
        safe_copy(&cell, copy.localsplus[0], sizeof(PyCellObject))) {
      self = cell.ob_base.ob_type == &PyCell_Type ? static_cast<const void*>(cell.ob_ref) : copy.localsplus[0];
    }
    frames[count++] = {copy.f_code, self, instruction_of(copy)};
  }
  return count;
}

}  // namespace ridgeline::agent
