// CPython 3.12: as 3.11, and each call from C into the interpreter puts a frame of its own on the C stack.
// Source: Include/internal/pycore_frame.h and Python/bytecodes.c of CPython 3.12.
#pragma once

#include <Python.h>
#include <internal/pycore_frame.h>

#include <cstddef>

namespace ridgeline::agent::layout {

using Frame = _PyInterpreterFrame;

inline const Frame* innermost(const PyThreadState& thread) {
  return thread.cframe == nullptr ? nullptr : thread.cframe->current_frame;
}
inline const Frame* caller(const Frame& frame) { return frame.previous; }
inline const PyCodeObject* code_of(const Frame& frame) {
  return frame.owner == FRAME_OWNED_BY_CSTACK ? nullptr : frame.f_code;
}
inline const void* position_of(const Frame& frame) { return frame.prev_instr; }
inline std::ptrdiff_t instruction_of(const Frame& frame) {
  return reinterpret_cast<const char*>(frame.prev_instr) - reinterpret_cast<const char*>(frame.f_code) -
         static_cast<std::ptrdiff_t>(offsetof(PyCodeObject, co_code_adaptive));
}
inline PyObject* object_of(PyObject* slot) { return slot; }
inline PyObject* const* first_argument(const Frame& frame, const PyCodeObject& /*code*/) { return frame.localsplus; }

}  // namespace ridgeline::agent::layout
