#include "module_calls.h"

#include <unordered_set>
#include <utility>
#include <vector>

namespace ridgeline::agent {

namespace {

struct Watch {
  PyObject* before = nullptr;          ///< owned
  PyObject* after = nullptr;           ///< owned
  std::vector<PyTypeObject*> classes;  ///< owned; their slot is ours
};
Watch g_watch;
ternaryfunc g_call = nullptr;  ///< what the slot holds otherwise

/// False: what was raised must go on, such as KeyboardInterrupt.
bool finish_callback(PyObject* result) {
  if (result == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) {
      return false;
    }
    PyErr_Clear();
  }
  Py_XDECREF(result);
  return true;
}

/// Calls back with the arguments of the call, and with `output` unless that is null.
bool call_back(PyObject* callback, PyObject* module, PyObject* args, PyObject* kwargs, PyObject* output) {
  PyObject* keywords = kwargs != nullptr ? Py_NewRef(kwargs) : PyDict_New();
  PyObject* result = nullptr;
  if (keywords != nullptr) {
    Py_INCREF(callback);  // the watch may end meanwhile
    result = PyObject_CallFunctionObjArgs(callback, module, args, keywords, output, nullptr);
    Py_DECREF(callback);
    Py_DECREF(keywords);
  }
  return finish_callback(result);
}

bool call_before(PyObject* module, PyObject* args, PyObject* kwargs) {
  return g_watch.before == nullptr || call_back(g_watch.before, module, args, kwargs, nullptr);
}

/// Keeps the exception of the call itself.
bool call_after(PyObject* module, PyObject* args, PyObject* kwargs, PyObject* output) {
  if (g_watch.after == nullptr) {
    return true;
  }
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (!call_back(g_watch.after, module, args, kwargs, output != nullptr ? output : Py_None)) {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return false;
  }
  PyErr_Restore(type, value, trace);
  return true;
}

PyObject* called(PyObject* module, PyObject* args, PyObject* kwargs) {
  if (!call_before(module, args, kwargs)) {
    return nullptr;
  }
  PyObject* result = g_call(module, args, kwargs);
  if (!call_after(module, args, kwargs, result)) {
    Py_XDECREF(result);
    return nullptr;
  }
  return result;
}

/// Adds the class and all that derive from it; owned references. False with Python's exception set.
bool add_classes(PyObject* root, std::vector<PyTypeObject*>& found) {
  std::unordered_set<PyObject*> seen{root};
  std::vector<PyObject*> waiting{root};
  Py_INCREF(root);
  bool is_complete = true;
  while (!waiting.empty()) {
    PyObject* one = waiting.back();
    waiting.pop_back();
    found.push_back(reinterpret_cast<PyTypeObject*>(one));
    PyObject* derived = PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyType_Type), "__subclasses__", "O", one);
    is_complete = is_complete && derived != nullptr;
    for (Py_ssize_t i = 0; derived != nullptr && i < PyList_GET_SIZE(derived); ++i) {
      PyObject* type = PyList_GET_ITEM(derived, i);
      if (seen.insert(type).second) {
        Py_INCREF(type);
        waiting.push_back(type);
      }
    }
    Py_XDECREF(derived);
  }
  return is_complete;
}

}  // namespace

bool watch_module_calls(PyObject* module_class, PyObject* before, PyObject* after) {
  unwatch_module_calls();
  if (PyType_Check(module_class) == 0 || reinterpret_cast<PyTypeObject*>(module_class)->tp_call == nullptr) {
    PyErr_SetString(PyExc_TypeError, "watch_module_calls: expected a class whose instances can be called");
    return false;
  }
  std::vector<PyTypeObject*> classes;
  const bool is_complete = add_classes(module_class, classes);
  g_call = classes.front()->tp_call;
  for (PyTypeObject* one : classes) {
    if (is_complete && one->tp_call == g_call) {
      one->tp_call = &called;
      g_watch.classes.push_back(one);
    } else {
      Py_DECREF(one);  // it is called in another way, which is left to it
    }
  }
  if (!is_complete) {
    return false;
  }
  Py_INCREF(before);
  Py_INCREF(after);
  g_watch.before = before;
  g_watch.after = after;
  return true;
}

void unwatch_module_calls() {
  Watch ended;
  std::swap(ended, g_watch);
  for (PyTypeObject* one : ended.classes) {
    if (one->tp_call == &called) {
      one->tp_call = g_call;
    }
    Py_DECREF(one);
  }
  Py_XDECREF(ended.before);
  Py_XDECREF(ended.after);
}

}  // namespace ridgeline::agent
