#include "step/graph/changes.h"

#include <gmock/gmock.h>

namespace ridgeline::step {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Graph three_in_order() {
  Graph graph;
  graph.resources.resize(2);
  graph.names = {"", "aten::addmm", "aten::relu"};
  graph.lines = {{}, {"model.py", 5}};
  graph.modules = {"", "layer1", "layer1.0.conv", "layer10"};
  graph.tasks = {Task{.duration_ns = 10, .gap_ns = 1, .next = 1, .name = 1, .line = 1, .module = 1},
                 Task{.duration_ns = 5, .next = 2, .name = 2, .module = 2, .phase = analysis::Phase::kBackward},
                 Task{.duration_ns = 3, .name = 1, .module = 3, .kind = Kind::kKernel}};
  graph.memory = {{0, 0, 8}, {1, 0, 4}};
  graph.dependencies = {{0, 1, 6}, {0, 2, 7}};
  return graph;
}

TEST(Changes, SelectsByWhatATaskIs) {
  const Graph graph = three_in_order();
  EXPECT_THAT(select_kind(graph, Kind::kKernel), ElementsAre(2));
  EXPECT_THAT(select_phase(graph, analysis::Phase::kBackward), ElementsAre(1));
  EXPECT_THAT(select_line(graph, {"model.py", 5}), ElementsAre(0));
  EXPECT_THAT(select_line(graph, {"model.py", 6}), IsEmpty());
  EXPECT_THAT(select_line(graph, {}), IsEmpty());
  EXPECT_THAT(select_name(graph, "addmm"), ElementsAre(0, 2));
}

TEST(Changes, SelectsAModuleWithWhatIsInside) {
  const Graph graph = three_in_order();
  EXPECT_THAT(select_module(graph, "layer1"), ElementsAre(0, 1)) << "layer10 is another module";
  EXPECT_THAT(select_module(graph, ""), ElementsAre(0, 1, 2));
}

TEST(Changes, ScalesAndSetsDurations) {
  EXPECT_EQ(scaled(three_in_order(), {1}, 0.5).tasks[1].duration_ns, 3) << "2.5, rounded";
  EXPECT_EQ(with_duration(three_in_order(), {0}, 77).tasks[0].duration_ns, 77);
  EXPECT_EQ(with_priority(three_in_order(), {2}, 4).tasks[2].priority, 4);
}

TEST(Changes, WhatIsTakenOutNeitherTakesTimeNorMemory) {
  const Graph graph = without(three_in_order(), {1});
  EXPECT_EQ(graph.tasks[1].duration_ns, 0);
  EXPECT_EQ(graph.dependencies[0].lag_ns, 0);
  EXPECT_EQ(graph.dependencies[1].lag_ns, 7);
  EXPECT_EQ(graph.memory.size(), 1);
}

TEST(Changes, WhatIsTakenOutLeavesBlocksThatOthersFree) {
  Graph graph = three_in_order();
  graph.memory = {{0, 0, 8}, {1, 0, 4}, {1, 0.5, -8}, {2, 0, -4}};
  const Graph changed = without(graph, {1});
  ASSERT_EQ(changed.memory.size(), 4) << "the first frees a block of another, the second is freed by another";
  graph.memory = {{1, 0, 8}, {1, 0.5, -8}, {2, 0, 4}};
  EXPECT_EQ(without(graph, {1}).memory.size(), 1);
}

TEST(Changes, MovingATaskClosesTheOrderBehindIt) {
  const Graph graph = moved(three_in_order(), {1}, 1);
  EXPECT_EQ(graph.tasks[0].next, 2);
  EXPECT_EQ(graph.tasks[1].next, kNoTask);
  EXPECT_EQ(graph.tasks[1].resource, 1);
}

TEST(Changes, InsertsIntoTheOrder) {
  Graph graph = three_in_order();
  const TaskId added = insert_after(graph, 0, Task{.duration_ns = 2, .resource = 9});
  EXPECT_EQ(graph.tasks[0].next, added);
  EXPECT_EQ(graph.tasks[added].next, 1);
  EXPECT_EQ(graph.tasks[added].resource, 0) << "that of the task before";
}

}  // namespace
}  // namespace ridgeline::step
