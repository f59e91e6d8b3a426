// A small step on a host and a device, made by hand: times in nanoseconds.
#pragma once

#include <string>
#include <vector>

#include "step/graph/graph.h"

namespace ridgeline::whatif::testing {

/// Appends tasks in order, each launching its kernel.
class StepGraph {
 public:
  StepGraph() {
    graph.names = {""};
    graph.lines = {{}, {"/project/train.py", 7}};
    graph.modules = {"", "features", "features.0", "head"};
    graph.operations = {{}};
    graph.resources = {{"thread 0"}, {"device 0, stream 7", graph::Resource::Type::kDevice}};
  }

  graph::TaskId host(graph::Kind kind, std::int64_t ns, analysis::Phase phase, const std::string& name = "") {
    return append(0, kind, ns, phase, name);
  }

  /// A call of 1 and its kernel.
  graph::TaskId kernel(const std::string& name, std::int64_t ns, analysis::Phase phase) {
    const graph::TaskId call = host(graph::Kind::kCall, 1, phase, "cudaLaunchKernel");
    const graph::TaskId id = append(1, graph::Kind::kKernel, ns, phase, name);
    graph.dependencies.push_back({call, id, 0});
    return id;
  }

  graph::TaskId wait_for(graph::TaskId task, analysis::Phase phase) {
    const graph::TaskId wait = host(graph::Kind::kWait, 0, phase);
    graph.dependencies.push_back({task, wait, 0});
    return wait;
  }

  graph::Graph finish() {
    graph.end = host(graph::Kind::kMark, 0, analysis::Phase::kOther);
    return graph;
  }

  graph::Graph graph;

 private:
  graph::TaskId append(std::uint16_t resource, graph::Kind kind, std::int64_t ns, analysis::Phase phase,
                       const std::string& name) {
    graph::Task task;
    task.duration_ns = ns;
    task.kind = kind;
    task.phase = phase;
    task.resource = resource;
    task.name = graph::name_index(graph, name);
    const auto id = static_cast<graph::TaskId>(graph.tasks.size());
    graph.tasks.push_back(task);
    if (last_[resource] != graph::kNoTask) {
      graph.tasks[last_[resource]].next = id;
    }
    last_[resource] = id;
    return id;
  }

  std::vector<graph::TaskId> last_ = {graph::kNoTask, graph::kNoTask};
};

}  // namespace ridgeline::whatif::testing
