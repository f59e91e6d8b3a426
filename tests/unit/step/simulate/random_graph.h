// Graphs at random from a seed, small enough for a reference that steps through every nanosecond.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "step/graph/graph.h"

namespace ridgeline::step::testing {

struct RandomGraphOptions {
  std::size_t tasks = 24;
  std::size_t resources = 3;
  int longest_ns = 9;
  int shortest_ns = 1;
  bool in_order = false;  ///< every resource has one order of its tasks
};

/// Dependencies go from lower ids to higher ones, so there is no cycle.
inline step::Graph random_graph(std::mt19937& random, const RandomGraphOptions& options) {
  const auto roll = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  step::Graph graph;
  graph.names = {"", "a", "b"};
  graph.lines = {{}, {"train.py", 1}, {"train.py", 2}};
  graph.modules = {"", "layer", "layer.0"};
  for (std::size_t i = 0; i < options.resources; ++i) {
    graph.resources.push_back(
        {"resource " + std::to_string(i), i == 0 ? step::Resource::Type::kHost : step::Resource::Type::kDevice});
  }
  std::vector<step::TaskId> last(options.resources, step::kNoTask);
  for (std::size_t i = 0; i < options.tasks; ++i) {
    const auto id = static_cast<step::TaskId>(i);
    step::Task task;
    task.resource = static_cast<std::uint16_t>(roll(0, static_cast<int>(options.resources) - 1));
    task.duration_ns = roll(options.shortest_ns, options.longest_ns);
    task.priority = roll(0, 2);
    task.name = static_cast<std::uint32_t>(roll(0, 2));
    task.line = static_cast<std::uint32_t>(roll(0, 2));
    task.module = static_cast<std::uint32_t>(roll(0, 2));
    graph.tasks.push_back(task);
    step::TaskId& before = last[task.resource];
    if (options.in_order || roll(0, 3) == 0) {
      if (before != step::kNoTask) {
        graph.tasks[before].next = id;
        graph.tasks[before].gap_ns = roll(0, 2);
      }
    }
    before = id;
    for (int edges = roll(0, 2); i > 0 && edges > 0; --edges) {
      graph.dependencies.push_back({static_cast<step::TaskId>(roll(0, static_cast<int>(i) - 1)), id, roll(0, 3)});
    }
    if (roll(0, 1) == 0) {
      graph.memory.push_back({id, 0.5F, roll(1, 100)});
    }
  }
  return graph;
}

}  // namespace ridgeline::step::testing
