#include "code_objects.h"

#include <cstring>

namespace ridgeline::agent {

namespace {

/// Dynamo's code calls its compiled graphs by global names with this prefix (torch/_dynamo/output_graph.py).
bool calls_compiled_graph(PyObject* code) {
  static constexpr char kPrefix[] = "__compiled_fn_";
  PyObject* names = PyObject_GetAttrString(code, "co_names");
  bool found = false;
  if (names != nullptr && PyTuple_Check(names)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names) && !found; ++i) {
      const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
      found = name != nullptr && std::strncmp(name, kPrefix, sizeof(kPrefix) - 1) == 0;
    }
  }
  Py_XDECREF(names);
  PyErr_Clear();
  return found;
}

}  // namespace

std::string text_attribute(PyObject* object, const char* name) {
  std::string text;
  PyObject* value = PyObject_GetAttrString(object, name);
  if (value != nullptr && PyUnicode_Check(value)) {
    if (const char* utf8 = PyUnicode_AsUTF8(value)) {
      text = utf8;
    }
  }
  Py_XDECREF(value);
  PyErr_Clear();
  return text;
}

std::string source_file(PyObject* code) {
  return calls_compiled_graph(code) ? "<torch.compile>" : text_attribute(code, "co_filename");
}

}  // namespace ridgeline::agent
