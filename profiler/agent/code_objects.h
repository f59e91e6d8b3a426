// What the recording says about a code object.
#pragma once

#include <Python.h>

#include <string>

namespace ridgeline::agent {

/// A text attribute such as `co_name`; empty when there is none. Needs the GIL.
std::string text_attribute(PyObject* object, const char* name);

/// The file that the code was written in. Code that torch.compile made from a user's function keeps that function's
/// file and claims its first line for all of its work: its file is "<torch.compile>" here, so that the cost is the
/// calling line's. Needs the GIL.
std::string source_file(PyObject* code);

}  // namespace ridgeline::agent
