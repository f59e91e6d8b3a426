// CPython 3.14: the layout of 3.13, but its own frames belong to the interpreter, and the lowest bits of the slots that
// hold objects say how each is held.
// Source: Include/internal/pycore_interpframe_structs.h and pycore_stackref.h of CPython 3.14.
#pragma once

#include <Python.h>
#include <internal/pycore_interpframe_structs.h>

#include <cstddef>
#include <cstdint>

namespace ridgeline::agent::layout {

using Frame = _PyInterpreterFrame;

inline constexpr std::uintptr_t kTagBits = 3;

inline const Frame* innermost(const PyThreadState& thread) { return thread.current_frame; }
inline const Frame* caller(const Frame& frame) { return frame.previous; }
inline const PyCodeObject* code_of(const Frame& frame) {
  return frame.owner >= FRAME_OWNED_BY_INTERPRETER
             ? nullptr
             : reinterpret_cast<const PyCodeObject*>(frame.f_executable.bits & ~kTagBits);
}
inline const void* position_of(const Frame& frame) { return frame.instr_ptr; }
inline std::ptrdiff_t instruction_of(const Frame& frame) {
  return reinterpret_cast<const char*>(frame.instr_ptr) - reinterpret_cast<const char*>(code_of(frame)) -
         static_cast<std::ptrdiff_t>(offsetof(PyCodeObject, co_code_adaptive));
}
inline PyObject* object_of(PyObject* slot) {
  return reinterpret_cast<PyObject*>(reinterpret_cast<std::uintptr_t>(slot) & ~kTagBits);
}
inline PyObject* const* first_argument(const Frame& frame, const PyCodeObject& /*code*/) {
  return reinterpret_cast<PyObject* const*>(frame.localsplus);
}

}  // namespace ridgeline::agent::layout
