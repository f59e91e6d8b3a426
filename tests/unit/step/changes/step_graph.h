// A small step on a host and a device, made by hand: times in nanoseconds.
#pragma once

#include <string>
#include <vector>

#include "step/graph/graph.h"

namespace ridgeline::step::testing {

/// Appends tasks in order, each launching its kernel.
class StepGraph {
 public:
  StepGraph() {
    graph.names = {""};
    graph.lines = {{}, {"/project/train.py", 7}};
    graph.modules = {"", "features", "features.0", "head"};
    graph.operations = {{}};
    graph.resources = {{"thread 0"}, {"device 0, stream 7", step::Resource::Type::kDevice}};
  }

  step::TaskId host(step::Kind kind, std::int64_t ns, analysis::Phase phase, const std::string& name = "") {
    return append(0, kind, ns, phase, name);
  }

  /// A call of 1 and its kernel.
  step::TaskId kernel(const std::string& name, std::int64_t ns, analysis::Phase phase) {
    const step::TaskId call = host(step::Kind::kCall, 1, phase, "cudaLaunchKernel");
    const step::TaskId id = append(1, step::Kind::kKernel, ns, phase, name);
    graph.dependencies.push_back({call, id, 0});
    return id;
  }

  step::TaskId wait_for(step::TaskId task, analysis::Phase phase) {
    const step::TaskId wait = host(step::Kind::kWait, 0, phase);
    graph.dependencies.push_back({task, wait, 0});
    return wait;
  }

  step::Graph finish() {
    graph.end = host(step::Kind::kMark, 0, analysis::Phase::kOther);
    return graph;
  }

  step::Graph graph;

 private:
  step::TaskId append(std::uint16_t resource, step::Kind kind, std::int64_t ns, analysis::Phase phase,
                      const std::string& name) {
    step::Task task;
    task.duration_ns = ns;
    task.kind = kind;
    task.phase = phase;
    task.resource = resource;
    task.name = step::name_index(graph, name);
    const auto id = static_cast<step::TaskId>(graph.tasks.size());
    graph.tasks.push_back(task);
    if (last_[resource] != step::kNoTask) {
      graph.tasks[last_[resource]].next = id;
    }
    last_[resource] = id;
    return id;
  }

  std::vector<step::TaskId> last_ = {step::kNoTask, step::kNoTask};
};

}  // namespace ridgeline::step::testing
