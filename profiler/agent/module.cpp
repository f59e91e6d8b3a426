// The Python module `_ridgeline_agent`: the control functions, for the runner.
//
// Built for one (torch version, C++ ABI, Python version), given by macros; importing it elsewhere raises ImportError.
#include <Python.h>
#include <sys/prctl.h>

#include <csignal>
#include <map>

#include "counter.h"
#include "device_calls.h"
#include "device_regions.h"
#include "gloo_messages.h"
#include "memory.h"
#include "module_calls.h"
#include "ops.h"
#include "profiler/agent/cupti/collector.h"
#include "recorder.h"
#include "roles.h"
#include "sampler.h"
#include "writer.h"

#ifndef RIDGELINE_TORCH_VERSION
#error "RIDGELINE_TORCH_VERSION must name the torch that this agent is built for: 2.13, or a whole version"
#endif

namespace ridgeline::agent {

namespace {

PyObject* none() { Py_RETURN_NONE; }

PyObject* text(const std::string& bytes) {
  return PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
}

PyObject* py_attach_memory(PyObject*, PyObject*) {
  attach_memory();
  return PyBool_FromLong(state().tracking_memory ? 1 : 0);
}
PyObject* py_detach_memory(PyObject*, PyObject*) {
  detach_memory();
  return none();
}
PyObject* py_attach_device_memory(PyObject*, PyObject*) {
  attach_device_memory();
  return none();
}
PyObject* py_detach_device_memory(PyObject*, PyObject*) { return PyBool_FromLong(detach_device_memory() ? 1 : 0); }
/// The number of a device, from `least` on; false, with Python's exception set, when it is none.
bool read_device(PyObject* argument, std::int16_t least, std::int16_t& device) {
  const long number = PyLong_AsLong(argument);
  if (PyErr_Occurred() != nullptr) {
    return false;
  }
  if (number < least || number > INT8_MAX) {
    PyErr_SetString(PyExc_ValueError, "no such device");
    return false;
  }
  device = static_cast<std::int16_t>(number);
  return true;
}
PyObject* py_set_memory_device(PyObject*, PyObject* argument) {
  return read_device(argument, kHost, state().memory_device) ? none() : nullptr;
}
PyObject* py_keep_first_events(PyObject*, PyObject*) {
  keep_first_events();
  return none();
}
PyObject* py_peak_bytes(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(peak_bytes()); }
PyObject* py_ticks(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(ticks()); }
/// A sequence of moments of ticks(); with Python's exception set when it is none.
std::vector<std::uint64_t> read_moments(PyObject* argument) {
  std::vector<std::uint64_t> moments;
  const Py_ssize_t count = PySequence_Size(argument);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* moment = PySequence_GetItem(argument, i);
    moments.push_back(moment != nullptr ? PyLong_AsUnsignedLongLong(moment) : 0);
    Py_XDECREF(moment);
  }
  return moments;
}
PyObject* py_alive_bytes(PyObject*, PyObject* argument) {
  const std::vector<std::uint64_t> moments = read_moments(argument);
  if (PyErr_Occurred() != nullptr) {
    return nullptr;
  }
  const std::vector<AliveBytes> alive = alive_bytes(moments);
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(alive.size()));
  for (std::size_t i = 0; list != nullptr && i < alive.size(); ++i) {
    PyObject* pair = Py_BuildValue("(KK)", static_cast<unsigned long long>(alive[i].at),
                                   static_cast<unsigned long long>(alive[i].most));
    if (pair == nullptr) {
      Py_DECREF(list);
      return nullptr;
    }
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), pair);
  }
  return list;
}
PyObject* py_requests_since(PyObject*, PyObject* arguments) {
  unsigned long long moment = 0;
  unsigned long long mark = 0;
  PyObject* operations = nullptr;
  if (PyArg_ParseTuple(arguments, "KOK", &moment, &operations, &mark) == 0) {
    return nullptr;
  }
  const std::vector<std::uint64_t> moments = read_moments(operations);
  if (PyErr_Occurred() != nullptr) {
    return nullptr;
  }
  const std::vector<std::int64_t> requests =
      requests_since(moment, moments, mark != 0 ? std::optional<std::uint64_t>(mark) : std::nullopt);
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(requests.size()));
  for (std::size_t i = 0; list != nullptr && i < requests.size(); ++i) {
    PyObject* number = PyLong_FromLongLong(requests[i]);
    if (number == nullptr) {
      Py_DECREF(list);
      return nullptr;
    }
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), number);
  }
  return list;
}
PyObject* py_compact_memory(PyObject*, PyObject*) {
  compact_memory();
  return none();
}

PyObject* py_end_with_parent(PyObject*, PyObject*) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return none();
}

PyObject* py_adopt_orphans(PyObject*, PyObject*) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, 0);
  return none();
}

PyObject* py_set_stage(PyObject*, PyObject* argument) {
  const long stage = PyLong_AsLong(argument);
  if (stage < 0 || stage >= recording::kStageCount) {
    PyErr_SetString(PyExc_ValueError, "set_stage: no such stage");
    return nullptr;
  }
  state().stage = static_cast<recording::Stage>(stage);
  return none();
}

PyObject* py_set_module_call(PyObject*, PyObject* code) {
  if (!PyCode_Check(code)) {
    PyErr_SetString(PyExc_TypeError, "set_module_call: expected a code object");
    return nullptr;
  }
  known_objects().keep_code(code);
  state().module_call = code;
  return none();
}

/// watch_module_calls(class, before, after)
PyObject* py_watch_module_calls(PyObject*, PyObject* args) {
  PyObject* module_class = nullptr;
  PyObject* before = nullptr;
  PyObject* after = nullptr;
  if (PyArg_ParseTuple(args, "OOO", &module_class, &before, &after) == 0) {
    return nullptr;
  }
  return watch_module_calls(module_class, before, after) ? none() : nullptr;
}
PyObject* py_unwatch_module_calls(PyObject*, PyObject*) {
  unwatch_module_calls();
  return none();
}

PyObject* py_set_parameters(PyObject*, PyObject* list) {
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "set_parameters: expected a list");
    return nullptr;
  }
  return set_parameters(list) ? none() : nullptr;
}

PyObject* py_set_inputs(PyObject*, PyObject* list) {
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "set_inputs: expected a list");
    return nullptr;
  }
  return set_inputs(list) ? none() : nullptr;
}

PyObject* py_begin(PyObject*, PyObject*) { return text(begin_recording()); }
PyObject* py_record_past(PyObject*, PyObject* moment) {
  const unsigned long long begin = PyLong_AsUnsignedLongLong(moment);
  if (PyErr_Occurred() != nullptr) {
    return nullptr;
  }
  record_past(begin);
  return none();
}
PyObject* py_begin_capture(PyObject*, PyObject*) {
  begin_capture();
  return none();
}
PyObject* py_end_capture(PyObject*, PyObject*) {
  end_capture();
  return none();
}
PyObject* py_iteration_begin(PyObject*, PyObject*) {
  iteration_begin();
  return none();
}
PyObject* py_iteration_end(PyObject*, PyObject*) {
  iteration_end();
  return none();
}
PyObject* py_end(PyObject*, PyObject*) {
  end_recording();
  return none();
}

PyObject* py_measure_op_cost(PyObject*, PyObject*) {
  const OpCost cost = measure_op_cost();
  FrameMark mark{};
  const std::uint32_t depth = thread_buffer().stacks.depth(current_stack(thread_buffer(), mark));
  return Py_BuildValue("ddk", cost.inside, cost.outside, static_cast<unsigned long>(depth));
}
PyObject* py_measure_memory_cost(PyObject*, PyObject*) { return PyFloat_FromDouble(measure_memory_cost()); }

/// For tests, which count what recording does instead of timing it.
PyObject* py_work(PyObject*, PyObject*) {
  const SamplerCounts counts = sampler_counts();
  const ThreadBuffer& buffer = thread_buffer();
  return Py_BuildValue(
      "{sKsKsKsKsKsKsKsKsK}", "signals", static_cast<unsigned long long>(counts.signals), "samples",
      static_cast<unsigned long long>(counts.samples), "sampled_frames", static_cast<unsigned long long>(counts.frames),
      "sampler_reads", static_cast<unsigned long long>(counts.reads), "armings",
      static_cast<unsigned long long>(counts.armings), "sampler_ns", static_cast<unsigned long long>(counts.cpu_ns),
      "recorded_ns", static_cast<unsigned long long>(counts.recorded_ns), "frames",
      static_cast<unsigned long long>(buffer.stacks.frames_read()), "ops",
      static_cast<unsigned long long>(buffer.ops.size()));
}

PyObject* py_set_cost(PyObject*, PyObject* arguments) {
  double* cost = state().cost;
  if (PyArg_ParseTuple(arguments, "dddd", &cost[0], &cost[1], &cost[2], &cost[3]) == 0) {
    return nullptr;
  }
  return none();
}

/// All module instances that stacks mention, as (address, type): an instance itself may be gone.
PyObject* py_instances(PyObject*, PyObject*) {
  PyObject* list = PyList_New(0);
  for (const KnownObjects::Instance& instance : known_objects().instances()) {
    PyObject* entry = Py_BuildValue("KO", reinterpret_cast<unsigned long long>(instance.address), instance.type);
    if (list == nullptr || entry == nullptr || PyList_Append(list, entry) != 0) {
      Py_XDECREF(entry);
      Py_XDECREF(list);
      return nullptr;
    }
    Py_DECREF(entry);
  }
  return list;
}

bool read_strings(PyObject* list, std::vector<std::string>& strings) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i));
    if (text == nullptr) {
      return false;
    }
    strings.emplace_back(text);
  }
  return true;
}

PyObject* py_attach_device(PyObject*, PyObject* list) {
  std::vector<std::string> candidates;
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "attach_device: expected a list");
    return nullptr;
  }
  if (!read_strings(list, candidates)) {
    return nullptr;
  }
  record_only_in_this_process();
  return text(cupti::Collector::instance().attach(cupti::open_library(candidates), &on_device_call));
}
PyObject* py_detach_device(PyObject*, PyObject*) {
  cupti::Collector::instance().detach();
  forget_captures();
  return none();
}
PyObject* py_attach_regions(PyObject*, PyObject* argument) {
  std::int16_t device = 0;
  return read_device(argument, 0, device) ? text(attach_regions(device)) : nullptr;
}
PyObject* py_detach_regions(PyObject*, PyObject*) {
  detach_regions();
  return none();
}
PyObject* py_device_counts(PyObject*, PyObject*) {
  return Py_BuildValue("kk", static_cast<unsigned long>(count_launches()),
                       static_cast<unsigned long>(cupti::Collector::instance().activity_count()));
}

PyObject* py_start_counting(PyObject*, PyObject* arguments) {
  PyObject* root_list = nullptr;
  PyObject* excluded_list = nullptr;
  PyObject* included_list = nullptr;
  std::vector<std::string> roots;
  std::vector<std::string> excluded;
  std::vector<std::string> included;
  if (PyArg_ParseTuple(arguments, "O!O!O!", &PyList_Type, &root_list, &PyList_Type, &excluded_list, &PyList_Type,
                       &included_list) == 0 ||
      !read_strings(root_list, roots) || !read_strings(excluded_list, excluded) ||
      !read_strings(included_list, included)) {
    return nullptr;
  }
  start_counting(std::move(roots), std::move(excluded), std::move(included));
  return none();
}
PyObject* py_stop_counting(PyObject*, PyObject*) {
  stop_counting();
  return none();
}

PyObject* py_set_requests(PyObject*, PyObject* list) {
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "set_requests: expected a list");
    return nullptr;
  }
  std::vector<MemoryRequest> requests;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    unsigned long long address = 0;
    unsigned long long bytes = 0;
    unsigned short stream = 0;
    PyObject* request = PyList_GET_ITEM(list, i);
    if (!PyTuple_Check(request)) {
      PyErr_SetString(PyExc_TypeError, "set_requests: expected tuples");
      return nullptr;
    }
    if (PyArg_ParseTuple(request, "KKH", &address, &bytes, &stream) == 0) {
      return nullptr;
    }
    requests.push_back({address, bytes, stream});
  }
  state().requests = std::move(requests);
  return none();
}

PyObject* py_set_compiled_code(PyObject*, PyObject* bytes) {
  if (!PyBytes_Check(bytes)) {
    PyErr_SetString(PyExc_TypeError, "set_compiled_code: expected bytes");
    return nullptr;
  }
  state().compiled_code.assign(PyBytes_AS_STRING(bytes), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes)));
  return none();
}

PyObject* py_begin_messages(PyObject*, PyObject*) { return text(begin_messages()); }
PyObject* py_end_messages(PyObject*, PyObject*) {
  end_messages();
  return none();
}

/// (local, remote) of each socket that messages came through; `number` gets its place in the list, by socket.
PyObject* list_connections(std::map<int, unsigned long>& number) {
  PyObject* list = PyList_New(0);
  for (std::size_t i = 0; list != nullptr && i < message_count(); ++i) {
    if (!number.emplace(messages()[i].socket, number.size()).second) {
      continue;
    }
    const Endpoints ends = endpoints_of(messages()[i].socket);
    PyObject* pair = Py_BuildValue("ss", ends.local.c_str(), ends.remote.c_str());
    if (pair == nullptr || PyList_Append(list, pair) != 0) {
      Py_CLEAR(list);
    }
    Py_XDECREF(pair);
  }
  return list;
}

PyObject* py_messages(PyObject*, PyObject*) {
  std::map<int, unsigned long> number;
  PyObject* connections = list_connections(number);
  PyObject* list = connections == nullptr ? nullptr : PyList_New(static_cast<Py_ssize_t>(message_count()));
  const TickScale scale{recording_start(), TickScale::now()};
  for (std::size_t i = 0; list != nullptr && i < message_count(); ++i) {
    const Message& message = messages()[i];
    PyObject* entry =
        Py_BuildValue("KKKKkBBL", static_cast<unsigned long long>(scale.ns(message.start)),
                      static_cast<unsigned long long>(scale.ns(message.end)),
                      static_cast<unsigned long long>(message.slot), static_cast<unsigned long long>(message.bytes),
                      number.at(message.socket), static_cast<unsigned char>(message.kind),
                      static_cast<unsigned char>(message.sent ? 1 : 0), static_cast<long long>(message.position));
    if (entry == nullptr) {
      Py_CLEAR(list);
      break;
    }
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), entry);
  }
  if (list == nullptr) {
    Py_XDECREF(connections);
    return nullptr;
  }
  return Py_BuildValue("NNK", connections, list, static_cast<unsigned long long>(lost_messages()));
}

/// finish(instances) → bytes: instances as (type, name, file, line).
PyObject* py_finish(PyObject*, PyObject* instance_list) {
  if (!PyList_Check(instance_list)) {
    PyErr_SetString(PyExc_TypeError, "finish: expected a list");
    return nullptr;
  }
  std::vector<InstanceText> instances;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(instance_list); ++i) {
    const char* type = nullptr;
    const char* name = nullptr;
    const char* file = nullptr;
    unsigned int line = 0;
    if (PyArg_ParseTuple(PyList_GET_ITEM(instance_list, i), "sssI", &type, &name, &file, &line) == 0) {
      return nullptr;
    }
    instances.push_back({type, name, file, line});
  }
  const std::string bytes = write_recording(instances);
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

PyMethodDef kMethods[] = {
    {"attach_memory", py_attach_memory, METH_NOARGS, "Observe the CPU allocator; false when that is not possible."},
    {"detach_memory", py_detach_memory, METH_NOARGS, "Stop observing the CPU allocator."},
    {"attach_device_memory", py_attach_device_memory, METH_NOARGS, "Observe CUDA's caching allocator too."},
    {"detach_device_memory", py_detach_device_memory, METH_NOARGS, "Stop that. Returns whether it was active."},
    {"set_memory_device", py_set_memory_device, METH_O, "Whose events a recording has: -1 the host, or a CUDA device."},
    {"keep_first_events", py_keep_first_events, METH_NOARGS, "Keep the allocator's events until now for the next one."},
    {"peak_bytes", py_peak_bytes, METH_NOARGS, "The most that was alive on the recorded device, by the kept events."},
    {"ticks", py_ticks, METH_NOARGS, "The clock of recordings."},
    {"alive_bytes", py_alive_bytes, METH_O,
     "[moment of ticks()], ascending -> [(bytes alive then on the recorded device, the most until the next moment)]."},
    {"requests_since", py_requests_since, METH_VARARGS,
     "A moment of ticks(), those of operations, and one to mark by a 0, or 0 -> what was asked of the recorded device "
     "since then: bytes, or ~i where request i was freed; without what is freed before the next operation."},
    {"compact_memory", py_compact_memory, METH_NOARGS, "Forget the events of blocks that are gone."},
    {"end_with_parent", py_end_with_parent, METH_NOARGS, "The system ends this process when its parent ends."},
    {"adopt_orphans", py_adopt_orphans, METH_NOARGS,
     "Orphans below this process become its children, and it survives its own parent, to end them."},
    {"set_stage", py_set_stage, METH_O, "The stage that the run is in: recording::Stage."},
    {"set_module_call", py_set_module_call, METH_O, "The code object of torch.nn.Module._call_impl."},
    {"watch_module_calls", py_watch_module_calls, METH_VARARGS,
     "(class, before, after): call before(module, args, kwargs) and after(..., output) around calls of its instances."},
    {"unwatch_module_calls", py_unwatch_module_calls, METH_NOARGS, "Stop that."},
    {"set_parameters", py_set_parameters, METH_O, "[(name, tensor, is_parameter)] of the models."},
    {"set_inputs", py_set_inputs, METH_O, "[tensor] of the inputs."},
    {"attach_device", py_attach_device, METH_O,
     "Use the first CUPTI of a list of paths; returns why that failed, or ''."},
    {"detach_device", py_detach_device, METH_NOARGS, "Release CUPTI."},
    {"attach_regions", py_attach_regions, METH_O,
     "Time operations by events of a CUDA device; returns why that failed, or ''."},
    {"detach_regions", py_detach_regions, METH_NOARGS, "Stop that."},
    {"device_counts", py_device_counts, METH_NOARGS, "(launches, activities) of the recording."},
    {"begin", py_begin, METH_NOARGS, "Begin a recording; returns why devices cannot be recorded, or ''."},
    {"record_past", py_record_past, METH_O,
     "(ticks) A recording of one iteration since then: what the allocators did, from events kept anyway."},
    {"begin_capture", py_begin_capture, METH_NOARGS, "A CUDA graph is captured: its operations stay for recordings."},
    {"end_capture", py_end_capture, METH_NOARGS, "It was captured."},
    {"iteration_begin", py_iteration_begin, METH_NOARGS, "Begin one iteration of the recording."},
    {"iteration_end", py_iteration_end, METH_NOARGS, "End it."},
    {"end", py_end, METH_NOARGS, "End the recording."},
    {"measure_op_cost", py_measure_op_cost, METH_NOARGS, "(inside ns, outside ns, frames) of one op record."},
    {"measure_memory_cost", py_measure_memory_cost, METH_NOARGS, "Nanoseconds per allocator event."},
    {"work", py_work, METH_NOARGS, "Counts of what recording did so far: {name: count}."},
    {"set_cost", py_set_cost, METH_VARARGS, "The calibrated costs: recording::Cost."},
    {"start_counting", py_start_counting, METH_VARARGS,
     "(roots, excluded, included): count line runs and module calls."},
    {"stop_counting", py_stop_counting, METH_NOARGS, "Stop counting."},
    {"instances", py_instances, METH_NOARGS, "(address, type) of module instances by number."},
    {"set_compiled_code", py_set_compiled_code, METH_O, "Where compiled code came from: protocol/compiled_code.h."},
    {"set_requests", py_set_requests, METH_O, "The requests to the device's allocator: (address, bytes, stream)."},
    {"begin_messages", py_begin_messages, METH_NOARGS, "Observe Gloo's messages; returns why that failed, or ''."},
    {"end_messages", py_end_messages, METH_NOARGS, "Stop that."},
    {"messages", py_messages, METH_NOARGS,
     "([(local, remote)], [(start, end, slot, bytes, connection, kind, sent, position)], lost) of the last recording."},
    {"finish", py_finish, METH_O, "The recording as bytes."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT,
                       "_ridgeline_agent",
                       "Records training steps.",
                       -1,
                       kMethods,
                       nullptr,
                       nullptr,
                       nullptr,
                       nullptr};

/// Whether a version of torch is the one that this was built for; of a release, any of its minor version.
bool is_built_for(std::string_view version) {
  constexpr std::string_view kBuiltFor = RIDGELINE_TORCH_VERSION;
  const bool is_minor = kBuiltFor.find('.') == kBuiltFor.rfind('.');
  return version == kBuiltFor || (is_minor && version.substr(0, kBuiltFor.size() + 1) == std::string(kBuiltFor) + ".");
}

/// Refuses a torch or a Python other than the one this was built for. True when it is the one.
bool matches_process() {
  std::string version;
  PyObject* torch = PyImport_ImportModule("torch");
  PyObject* value = torch == nullptr ? nullptr : PyObject_GetAttrString(torch, "__version__");
  PyObject* text = value == nullptr ? nullptr : PyObject_Str(value);
  if (text != nullptr) {
    version = PyUnicode_AsUTF8(text);
  }
  Py_XDECREF(text);
  Py_XDECREF(value);
  Py_XDECREF(torch);
  if (PyErr_Occurred() != nullptr) {
    return false;
  }
  if (!is_built_for(version)) {
    PyErr_Format(PyExc_ImportError, "this Ridgeline agent is built for torch %s, and torch here is %s",
                 RIDGELINE_TORCH_VERSION, version.c_str());
    return false;
  }
  const unsigned long python = PyLong_AsUnsignedLong(PySys_GetObject("hexversion"));  // borrowed, and always there
  if (python >> 16U != PY_VERSION_HEX >> 16U) {
    PyErr_Format(PyExc_ImportError, "this Ridgeline agent is built for Python 3.%d", PY_MINOR_VERSION);
    return false;
  }
  return true;
}

}  // namespace

}  // namespace ridgeline::agent

// NOLINTNEXTLINE(readability-identifier-naming): CPython looks for this name
extern "C" __attribute__((visibility("default"))) PyObject* PyInit__ridgeline_agent() {
  return ridgeline::agent::matches_process() ? PyModule_Create(&ridgeline::agent::kModule) : nullptr;
}
