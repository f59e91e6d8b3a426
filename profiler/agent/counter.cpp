// How often each user line runs, exactly: the interpreter's own line events in an iteration of its own.
//
// A line that spans several instructions groups ("line starts") gets one event for each; the line ran as often as the
// most frequent of them. A call over several lines comes back to its first line that way without counting twice.
#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "code_objects.h"
#include "counter.h"
#include "recorder.h"

namespace ridgeline::agent {

namespace {

struct Instruction {
  const void* code;
  std::int32_t offset;
  bool operator==(const Instruction& other) const { return code == other.code && offset == other.offset; }
};

struct InstructionHash {
  std::size_t operator()(const Instruction& instruction) const {
    return (reinterpret_cast<std::size_t>(instruction.code) ^ static_cast<std::uint32_t>(instruction.offset)) *
               0x9E3779B97F4A7C15ULL >>
           16U;
  }
};

struct Events {
  int line = 0;  ///< found once: the interpreter looks for it from the beginning of the code
  std::uint64_t count = 0;
};

struct Counts {
  std::vector<std::string> roots;
  std::vector<std::string> excluded;
  std::vector<std::string> included;
  std::unordered_map<const void*, bool> user_codes;
  std::unordered_map<Instruction, Events, InstructionHash> lines;
  std::unordered_map<const void*, std::uint64_t> instances;
};

Counts& counts() {
  static auto* instance = new Counts;
  return *instance;
}

bool inside(const std::string& file, const std::vector<std::string>& folders) {
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return file.size() > folder.size() && file.compare(0, folder.size(), folder) == 0 && file[folder.size()] == '/';
  });
}

bool is_one_of(const std::string& file, const std::vector<std::string>& files) {
  return std::find(files.begin(), files.end(), file) != files.end();
}

bool is_user_code(const void* code) {
  const auto [found, inserted] = counts().user_codes.try_emplace(code, false);
  if (inserted) {
    const std::string file = source_file(static_cast<PyObject*>(const_cast<void*>(code)));
    found->second = (inside(file, counts().roots) && !inside(file, counts().excluded)) ||
                    is_one_of(file, counts().included) || inside(file, counts().included);
    known_objects().keep_code(code);
  }
  return found->second;
}

void count_module_call(PyFrameObject* frame) {
  PyObject* locals = PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_locals");
  PyObject* self = locals == nullptr ? nullptr : PyMapping_GetItemString(locals, "self");
  if (self != nullptr) {
    known_objects().keep_instance(self);
    ++counts().instances[self];
  }
  PyErr_Clear();
  Py_XDECREF(self);
  Py_XDECREF(locals);
}

int on_event(PyObject* /*unused*/, PyFrameObject* frame, int what, PyObject* /*argument*/) {
  if (what != PyTrace_CALL && what != PyTrace_LINE) {
    return 0;
  }
  RawFrame traced{};  // the innermost
  if (read_frames(PyThreadState_Get(), nullptr, &traced, 1) == 0) {
    return 0;
  }
  if (what == PyTrace_LINE) {
    if (is_user_code(traced.code)) {
      const auto [found, inserted] = counts().lines.try_emplace({traced.code, traced.instruction});
      if (inserted) {
        found->second.line = PyFrame_GetLineNumber(frame);
      }
      ++found->second.count;
    }
  } else if (traced.code == state().module_call) {
    count_module_call(frame);
  }
  if (what == PyTrace_CALL && !is_user_code(traced.code)) {
    PyObject_SetAttrString(reinterpret_cast<PyObject*>(frame), "f_trace_lines", Py_False);
  }
  return 0;
}

}  // namespace

void start_counting(std::vector<std::string> roots, std::vector<std::string> excluded,
                    std::vector<std::string> included) {
  counts() = Counts{};
  // A folder of the environment that holds the whole project excludes nothing.
  excluded.erase(std::remove_if(excluded.begin(), excluded.end(),
                                [&](const std::string& folder) {
                                  return std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
                                    return root == folder || inside(root, {folder});
                                  });
                                }),
                 excluded.end());
  counts().roots = std::move(roots);
  counts().excluded = std::move(excluded);
  counts().included = std::move(included);
  PyEval_SetTrace(&on_event, nullptr);
}

void stop_counting() { PyEval_SetTrace(nullptr, nullptr); }

std::vector<LineRuns> line_runs() {
  std::vector<LineRuns> events;
  for (const auto& [instruction, found] : counts().lines) {
    events.push_back({instruction.code, static_cast<std::uint32_t>(found.line), found.count});
  }
  std::sort(events.begin(), events.end(), [](const LineRuns& a, const LineRuns& b) {
    return std::tie(a.code, a.line, a.count) < std::tie(b.code, b.line, b.count);
  });
  std::vector<LineRuns> runs;
  for (const LineRuns& line : events) {
    if (!runs.empty() && runs.back().code == line.code && runs.back().line == line.line) {
      runs.back().count = std::max(runs.back().count, line.count);
    } else {
      runs.push_back(line);
    }
  }
  return runs;
}

std::uint64_t instance_calls(const void* instance) {
  const auto found = counts().instances.find(instance);
  return found == counts().instances.end() ? 0 : found->second;
}

}  // namespace ridgeline::agent
