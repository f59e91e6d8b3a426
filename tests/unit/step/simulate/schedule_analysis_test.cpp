#include "step/simulate/schedule_analysis.h"

#include <gmock/gmock.h>

#include <random>
#include <utility>
#include <vector>

#include "step/graph/changes.h"
#include "tests/unit/step/simulate/random_graph.h"

namespace ridgeline::step {
namespace {

using ::testing::ElementsAre;
using testing::random_graph;

/// A host launches two kernels and waits for the second.
Graph launches() {
  Graph graph;
  graph.names = {""};
  graph.lines = {{}, {"train.py", 1}, {"train.py", 2}};
  graph.modules = {""};
  graph.resources = {{"thread 0", Resource::Type::kHost}, {"stream", Resource::Type::kDevice}};
  graph.tasks = {
      Task{.duration_ns = 2, .next = 1, .line = 1, .resource = 0},
      Task{.duration_ns = 2, .next = 2, .line = 2, .resource = 0}, Task{.duration_ns = 1, .line = 2, .resource = 0},
      Task{.duration_ns = 10, .next = 4, .line = 1, .resource = 1}, Task{.duration_ns = 5, .line = 2, .resource = 1}};
  graph.dependencies = {{0, 3, 1}, {1, 4}, {4, 2}};
  graph.end = 2;
  return graph;
}

TEST(ScheduleAnalysis, FollowsTheCriticalPath) {
  const Graph graph = launches();
  const Schedule schedule = *simulate(graph);
  EXPECT_EQ(schedule.total_ns, 19);
  EXPECT_THAT(critical_path(graph, schedule), ElementsAre(0, 3, 4, 2));
}

TEST(ScheduleAnalysis, SlackIsWhatATaskMayTakeLonger) {
  const Graph graph = launches();
  const Schedule schedule = *simulate(graph);
  EXPECT_THAT(slack(graph, schedule), ElementsAre(0, 9, 0, 0, 0));
}

TEST(ScheduleAnalysis, SaysWhatRunsAtOnce) {
  const Graph graph = launches();
  const Overlap found = overlap(graph, *simulate(graph));
  EXPECT_EQ(found.both_ns, 1);           // 3 to 4
  EXPECT_EQ(found.host_only_ns, 3 + 1);  // 0 to 3, 18 to 19
  EXPECT_EQ(found.device_only_ns, 14);
  EXPECT_EQ(found.neither_ns, 0);
}

TEST(ScheduleAnalysis, GivesWaitsToTheLineThatWaits) {
  const Graph graph = launches();
  EXPECT_THAT(host_time_by_line(graph, *simulate(graph), 0), ElementsAre(0, 2, 17));
}

TEST(ScheduleAnalysis, FindsThePeakWhereTasksOverlap) {
  Graph graph = launches();
  graph.bytes_at_start = 100;
  graph.memory = {{0, 0, 10}, {1, 0.5F, 20}, {2, 0, -30}, {3, 0.5F, 5}};
  const MemoryPeak peak = memory_peak(graph, *simulate(graph));
  EXPECT_EQ(peak.bytes, 135);
  EXPECT_EQ(peak.at_ns, 8);
}

TEST(ScheduleAnalysis, SlackOfRandomGraphsIsNeverNegativeAndTheCriticalPathHasNone) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    testing::RandomGraphOptions options;
    options.in_order = seed % 2 == 0;
    const Graph graph = random_graph(random, options);
    const Schedule schedule = *simulate(graph);
    const std::vector<std::int64_t> left = slack(graph, schedule);
    for (TaskId id = 0; id < graph.tasks.size(); ++id) {
      EXPECT_GE(left[id], 0) << "seed " << seed;
    }
    for (const TaskId id : critical_path(graph, schedule)) {
      EXPECT_EQ(left[id], 0) << "seed " << seed << ", task " << id;
    }
  }
}

TEST(ScheduleAnalysis, ATaskThatTakesItsSlackLongerDelaysNothingAndLongerDoes) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    testing::RandomGraphOptions options;
    options.in_order = true;  // another order on a resource would be another schedule
    const Graph graph = random_graph(random, options);
    const Schedule schedule = *simulate(graph);
    const std::vector<std::int64_t> left = slack(graph, schedule);
    const auto total_with = [&](TaskId id, std::int64_t more) {
      return simulate(with_duration(graph, {id}, graph.tasks[id].duration_ns + more))->total_ns;
    };
    for (TaskId id = 0; id < graph.tasks.size(); ++id) {
      EXPECT_EQ(total_with(id, left[id]), schedule.total_ns) << "seed " << seed << ", task " << id;
      EXPECT_GT(total_with(id, left[id] + 1), schedule.total_ns) << "seed " << seed << ", task " << id;
    }
  }
}

}  // namespace
}  // namespace ridgeline::step
