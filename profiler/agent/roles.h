// Which blocks are parameters, buffers, gradients and inputs.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "recorder.h"

namespace ridgeline::agent {

/// The parameters and buffers of the models: a Python list of (name, tensor, is_parameter).
/// Returns false with a Python exception set when the list is not that.
bool set_parameters(PyObject* list);
/// Inputs: a Python list of tensors.
bool set_inputs(PyObject* list);
/// Notes which blocks hold gradients now. Takes the GIL itself where a parameter is a DTensor: no lock may be held that
/// a thread with the GIL waits for.
void mark_gradients();
void mark_parameters_and_inputs();
const std::vector<RoleRecord>& roles();
void clear_roles();
struct Parameter {
  std::string name;
  const void* address;
};
std::vector<Parameter> parameters();

}  // namespace ridgeline::agent
