// What kind of work a task does and in which number format, as far as its names tell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "step/graph/changes.h"
#include "step/graph/graph.h"

namespace ridgeline::step {

enum class Work : std::uint8_t {
  kOther,
  kCompute,      ///< matrix multiplications, convolutions, attention: bound by arithmetic when they are large
  kElementwise,  ///< bound by memory, floating point
  kBatchNorm,
  kNorm,           ///< layer norms, softmax, losses: autocast leaves them in float32
  kCopy,           ///< between memories or within one
  kCommunication,  ///< collectives
};

enum class Precision : std::uint8_t { kUnknown, kFloat32, kTensorFloat32, kHalf };

struct TaskClass {
  Work work = Work::kOther;
  Precision precision = Precision::kUnknown;
};

/// The class of a kernel's or an operation's name.
TaskClass class_of_name(const std::string& name);

/// The class of each task, by index. The precision comes from the task's own name, and so does the kind of work; if
/// that name tells nothing, the kind comes from the innermost enclosing operation whose name does.
std::vector<TaskClass> classes_of(const Graph& graph);

/// The tasks that do the work of operations: on devices, where there are any, else on hosts. In the order of their
/// resources' tasks.
Selection working_tasks(const Graph& graph);
Selection working_tasks(const Graph& graph, analysis::Phase phase);

bool is_collective(const Graph& graph, const Task& task);

bool has_device(const Graph& graph);
bool is_on_device(const Graph& graph, TaskId task);

/// By task: the task of a host that launched it; kNoTask where none did.
std::vector<TaskId> launches_of(const Graph& graph);

/// The module and what is inside it, by its dotted name, which may lack the class of the model at its front.
Selection module_of(const Graph& graph, std::string_view name);
bool is_inside(const std::string& module, std::string_view name);

/// Whether `text` contains `part`, ignoring case.
bool mentions(const std::string& text, std::string_view part);

/// Whether the task's name, or that of an operation it belongs to, contains `part`, ignoring case.
bool is_called(const Graph& graph, const Task& task, std::string_view part);

}  // namespace ridgeline::step
