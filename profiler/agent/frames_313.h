// CPython 3.13: the layout of 3.12, but there is no _PyCFrame list, and instr_ptr points at the instruction that runs,
// not at the one before.
// Source: Include/internal/pycore_frame.h and Python/bytecodes.c of CPython 3.13.
#pragma once

#include <Python.h>
#include <internal/pycore_frame.h>

#include <cstddef>

namespace ridgeline::agent::layout {

using Frame = _PyInterpreterFrame;

inline const Frame* innermost(const PyThreadState& thread) { return thread.current_frame; }
inline const Frame* caller(const Frame& frame) { return frame.previous; }
inline const PyCodeObject* code_of(const Frame& frame) {
  return frame.owner == FRAME_OWNED_BY_CSTACK ? nullptr : reinterpret_cast<const PyCodeObject*>(frame.f_executable);
}
inline const void* position_of(const Frame& frame) { return frame.instr_ptr; }
inline std::ptrdiff_t instruction_of(const Frame& frame) {
  return reinterpret_cast<const char*>(frame.instr_ptr) - reinterpret_cast<const char*>(frame.f_executable) -
         static_cast<std::ptrdiff_t>(offsetof(PyCodeObject, co_code_adaptive));
}
inline PyObject* object_of(PyObject* slot) { return slot; }
inline PyObject* const* first_argument(const Frame& frame, const PyCodeObject& /*code*/) { return frame.localsplus; }

}  // namespace ridgeline::agent::layout
