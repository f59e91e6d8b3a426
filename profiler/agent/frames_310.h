// CPython 3.10: frames are PyFrameObjects on the heap, linked by `f_back`.
// Source: Include/cpython/frameobject.h and Python/ceval.c of CPython 3.10.
#pragma once

#include <Python.h>
#include <frameobject.h>

#include <cstddef>
#include <cstdint>

namespace ridgeline::agent::layout {

using Frame = PyFrameObject;

inline const Frame* innermost(const PyThreadState& thread) { return thread.frame; }
inline const Frame* caller(const Frame& frame) { return frame.f_back; }
inline const PyCodeObject* code_of(const Frame& frame) { return frame.f_code; }
/// `f_lasti` counts instructions, which have two bytes.
inline std::ptrdiff_t instruction_of(const Frame& frame) { return std::ptrdiff_t{frame.f_lasti} * 2; }
/// The address of the instruction: another frame in the same memory runs other code, at another address.
inline const void* position_of(const Frame& frame) {
  return PyBytes_AS_STRING(frame.f_code->co_code) + instruction_of(frame);
}
inline PyObject* object_of(PyObject* slot) { return slot; }
/// An argument that an inner function captures has moved behind the locals, into a cell.
inline PyObject* const* first_argument(const Frame& frame, const PyCodeObject& code) {
  for (Py_ssize_t cell = 0; code.co_cell2arg != nullptr && cell < PyTuple_GET_SIZE(code.co_cellvars); ++cell) {
    if (code.co_cell2arg[cell] == 0) {
      return &frame.f_localsplus[code.co_nlocals + cell];
    }
  }
  return frame.f_localsplus;
}

}  // namespace ridgeline::agent::layout
