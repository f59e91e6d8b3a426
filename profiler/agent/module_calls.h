// Calls of torch.nn.Module, seen where CPython dispatches them.
//
// Forward hooks would show the same, but torch.compile traces those into the script's graphs, and compiles again when
// they come and go. The slot that a call goes through is nothing that it looks at.
#pragma once

#include <Python.h>

namespace ridgeline::agent {

/// From now on, Python calls `before(module, args, kwargs)` ahead of each call of an instance of `module_class`, or of
/// one of the subclasses that there are now, and `after(module, args, kwargs, output)` behind it. What derives from
/// `Exception` and is raised there is dropped. `kwargs` is a dictionary, empty where the call has none; `output` is
/// None where the call raised. False, with Python's exception set, when the class has another way of being called.
/// Caller: holds the GIL, as for all that follows.
bool watch_module_calls(PyObject* module_class, PyObject* before, PyObject* after);
/// Puts the slots back. Calls that go on end unseen.
void unwatch_module_calls();

}  // namespace ridgeline::agent
