// A step of one process: backward of layers of random times and sizes, then the optimizer.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "jobs/replay/data_parallel.h"

namespace ridgeline::jobs::testing {

struct LocalStep {
  step::Graph graph{};
  std::vector<Gradient> gradients{};
  step::TaskId waits = 0;
};

inline LocalStep random_step(std::mt19937& random, std::size_t layers) {
  LocalStep step;
  step::Graph& graph = step.graph;
  graph.names = {""};
  graph.lines = {{}};
  graph.modules = {""};
  graph.operations = {{}};
  graph.resources = {{"thread 0", step::Resource::Type::kHost}};
  for (std::size_t layer = 0; layer <= layers; ++layer) {
    step::Task task;
    task.duration_ns = std::uniform_int_distribution<std::int64_t>(100'000, 4'000'000)(random);
    if (layer < layers) {
      task.next = static_cast<step::TaskId>(layer) + 1;
    }
    graph.tasks.push_back(task);
    const auto bytes = 4 * std::uniform_int_distribution<std::uint64_t>(1, 2'000'000)(random);
    if (layer < layers) {
      step.gradients.push_back({static_cast<step::TaskId>(layer), bytes});
    }
  }
  step.waits = static_cast<step::TaskId>(layers);
  graph.end = step.waits;
  return step;
}

}  // namespace ridgeline::jobs::testing
