#include "step/changes/task_classes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>

namespace ridgeline::step {
namespace {

/// A task has the class of its operation, or of the next one around it that determines one.
TEST(TaskClasses, AreThoseOfTheOperationsAroundThem) {
  Graph graph;
  graph.names = {"", "aten::mm", "own"};
  graph.operations = {{}, {1, 0, 0}, {2, 1, 1}, {2, 0, 2}};
  for (const std::uint32_t operation : {0U, 1U, 2U, 3U}) {
    graph.tasks.push_back({.name = 2, .operation = operation});
  }
  const std::vector<TaskClass> classes = classes_of(graph);
  EXPECT_EQ(classes[0].work, Work::kOther);
  EXPECT_EQ(classes[1].work, Work::kCompute);
  EXPECT_EQ(classes[2].work, Work::kCompute);
  EXPECT_EQ(classes[3].work, Work::kOther);
}

/// In processor time, with room for a slow build: to look at all that is around each took minutes.
TEST(TaskClasses, TakeLinearTimeForOperationsThatAreNestedDeeply) {
  constexpr std::uint32_t kDepth = 200'000;
  Graph graph;
  graph.names = {"", "own"};
  graph.operations.emplace_back();
  for (std::uint32_t i = 1; i <= kDepth; ++i) {
    graph.operations.push_back({1, i - 1, i});
    graph.tasks.push_back({.name = 1, .operation = i});
  }
  const std::clock_t began = std::clock();
  EXPECT_EQ(classes_of(graph).size(), kDepth);
  EXPECT_LT(std::clock() - began, 5 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace ridgeline::step
