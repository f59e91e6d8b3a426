#include "step/simulate/simulate.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <random>
#include <ranges>
#include <tuple>
#include <vector>

#include "step/graph/changes.h"
#include "tests/unit/rounds.h"
#include "tests/unit/step/simulate/random_graph.h"

namespace ridgeline::step {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::random_graph;
using testing::RandomGraphOptions;

/// The same rules, one nanosecond after the other and with no queue: what is ready is looked for anew each time.
std::vector<std::int64_t> reference_starts(const Graph& graph) {
  const std::size_t count = graph.tasks.size();
  std::vector<std::optional<std::int64_t>> start(count);
  std::vector<std::optional<std::int64_t>> ready(count);
  const auto over_by = [&](TaskId id, std::int64_t lag, std::int64_t now) {
    return start[id].has_value() && *start[id] + graph.tasks[id].duration_ns + lag <= now;
  };
  const auto is_ready = [&](TaskId id, std::int64_t now) {
    for (const Dependency& dependency : graph.dependencies) {
      if (dependency.to == id && !over_by(dependency.from, dependency.lag_ns, now)) {
        return false;
      }
    }
    for (TaskId before = 0; before < count; ++before) {
      if (graph.tasks[before].next == id && !over_by(before, graph.tasks[before].gap_ns, now)) {
        return false;
      }
    }
    return true;
  };
  std::size_t started = 0;
  for (std::int64_t now = 0; started < count && now < 10'000;) {
    const std::size_t before_now = started;
    for (TaskId id = 0; id < count; ++id) {
      if (!ready[id].has_value() && is_ready(id, now)) {
        ready[id] = now;
      }
    }
    for (std::size_t resource = 0; resource < graph.resources.size(); ++resource) {
      const bool busy = std::ranges::any_of(std::views::iota(TaskId{0}, static_cast<TaskId>(count)), [&](TaskId id) {
        return graph.tasks[id].resource == resource && start[id].has_value() && !over_by(id, 0, now);
      });
      std::optional<TaskId> best;
      for (TaskId id = 0; id < count && !busy; ++id) {
        if (graph.tasks[id].resource != resource || start[id].has_value() || !ready[id].has_value()) {
          continue;
        }
        const auto rank = [&](TaskId one) { return std::tuple(-graph.tasks[one].priority, *ready[one], one); };
        if (!best.has_value() || rank(id) < rank(*best)) {
          best = id;
        }
      }
      if (best.has_value()) {
        start[*best] = now;
        ++started;
      }
    }
    if (started == before_now) {
      ++now;  // else what took no time may allow more at once
    }
  }
  std::vector<std::int64_t> result;
  for (const auto& time : start) {
    result.push_back(time.value_or(-1));
  }
  return result;
}

Task task(std::int64_t ns, std::uint16_t resource = 0) { return Task{.duration_ns = ns, .resource = resource}; }

Graph on_resources(std::size_t count, std::vector<Task> tasks) {
  Graph graph;
  graph.names = {""};
  graph.lines = {{}};
  graph.modules = {""};
  graph.resources.resize(count);
  graph.tasks = std::move(tasks);
  return graph;
}

TEST(Simulate, RunsTasksOfOneResourceOneAfterTheOther) {
  Graph graph = on_resources(1, {task(3), task(4), task(5)});
  const auto schedule = simulate(graph);
  EXPECT_THAT(schedule->start, ElementsAre(0, 3, 7));
  EXPECT_EQ(schedule->total_ns, 12);
}

TEST(Simulate, WaitsForTheEndTheLagAndTheGap) {
  Graph graph = on_resources(2, {task(10), task(5, 1), task(5, 1)});
  graph.dependencies = {{0, 1, 2}};
  graph.tasks[1].next = 2;
  graph.tasks[1].gap_ns = 3;
  const auto schedule = simulate(graph);
  EXPECT_THAT(schedule->start, ElementsAre(0, 12, 20));
  EXPECT_THAT(schedule->cause, ElementsAre(kNoTask, 0, 1));
  EXPECT_THAT(schedule->order, ElementsAre(0, 1, 2));
}

TEST(Simulate, PrefersTheHighestPriority) {
  Graph graph = on_resources(1, {task(1), task(1), task(1)});
  graph.tasks[2].priority = 1;
  EXPECT_THAT(simulate(graph)->start, ElementsAre(1, 2, 0));
}

TEST(Simulate, SharesAResourceInEqualParts) {
  Graph graph = on_resources(1, {task(10), task(10), task(2)});
  graph.resources[0].shared_by = 1;
  const auto schedule = simulate(graph);
  // Three at a third each until the short one has had its 2, then two at a half.
  EXPECT_THAT(schedule->start, ElementsAre(0, 0, 0));
  EXPECT_THAT(schedule->end, ElementsAre(22, 22, 6));
}

TEST(Simulate, SharesOnlyWhatIsShort) {
  Graph graph = on_resources(1, {task(10), task(6)});
  graph.resources[0].shared_by = 2;
  EXPECT_THAT(simulate(graph)->end, ElementsAre(10, 6));
}

TEST(Simulate, EndsWithTheEndOfTheGraph) {
  Graph graph = on_resources(2, {task(3), task(50, 1)});
  graph.end = 0;
  EXPECT_EQ(simulate(graph)->total_ns, 3);
}

TEST(Simulate, RefusesACircle) {
  Graph graph = on_resources(2, {task(1), task(1, 1)});
  graph.dependencies = {{0, 1}, {1, 0}};
  ASSERT_FALSE(simulate(graph));
  EXPECT_THAT(simulate(graph).error().message(), HasSubstr("circle"));
}

TEST(Simulate, RefusesWhatIsOutOfRange) {
  const Graph good = on_resources(1, {task(1)});
  const auto refuses = [](Graph graph) { return !simulate(graph); };
  Graph graph = good;
  graph.tasks[0].resource = 1;
  EXPECT_TRUE(refuses(graph));
  graph = good;
  graph.tasks[0].duration_ns = -1;
  EXPECT_TRUE(refuses(graph));
  graph = good;
  graph.tasks[0].next = 7;
  EXPECT_TRUE(refuses(graph));
  graph = good;
  graph.dependencies = {{0, 3}};
  EXPECT_TRUE(refuses(graph));
  graph = good;
  graph.end = 4;
  EXPECT_TRUE(refuses(graph));
  graph = on_resources(1, std::vector<Task>(40, task(std::int64_t{1} << 60)));
  EXPECT_TRUE(refuses(graph)) << "the sum does not fit";
  EXPECT_TRUE(simulate(Graph{}));
}

TEST(Simulate, IsTheReferenceOnRandomGraphs) {
  const int count = ridgeline::testing::rounds(400, 60);
  for (int seed = 0; seed < count; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    RandomGraphOptions options;
    options.in_order = seed % 2 == 0;
    options.shortest_ns = options.in_order ? 0 : 1;
    options.tasks = 2 + static_cast<std::size_t>(seed) % 40;
    options.resources = 1 + static_cast<std::size_t>(seed) % 4;
    const Graph graph = random_graph(random, options);
    const auto schedule = simulate(graph);
    ASSERT_TRUE(schedule) << "seed " << seed;
    EXPECT_EQ(schedule->start, reference_starts(graph)) << "seed " << seed;
  }
}

TEST(Simulate, KeepsRandomChangesAcyclic) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Graph graph = random_graph(random, {});
    const auto chosen = [&](const Task&) { return random() % 3 == 0; };
    for (int step = 0; step < 4; ++step) {
      const Selection some = select(graph, chosen);
      switch (random() % 5) {
        case 0:
          graph = without(std::move(graph), some);
          break;
        case 1:
          graph = moved(std::move(graph), some, 1);
          break;
        case 2:
          graph = scaled(std::move(graph), some, 0.5);
          break;
        case 3:
          graph = with_priority(std::move(graph), some, 3);
          break;
        default:
          insert_after(graph, static_cast<TaskId>(random() % graph.tasks.size()), task(4));
      }
      ASSERT_TRUE(simulate(graph)) << "seed " << seed;
    }
  }
}

TEST(Simulate, AChangeAndItsInverseGiveTheSameSchedule) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = random_graph(random, {});
    const auto chosen = select_line(graph, {"train.py", 1});
    const Graph back = scaled(scaled(graph, chosen, 4), chosen, 0.25);
    EXPECT_EQ(simulate(graph)->start, simulate(back)->start) << "seed " << seed;
  }
}

TEST(Simulate, TakingTasksOutLeavesWhatFollowsWaitingForWhatCameBefore) {
  Graph graph = on_resources(2, {task(5), task(7, 1), task(1, 1)});
  graph.dependencies = {{0, 1, 9}};
  graph.tasks[1].next = 2;
  graph.tasks[1].gap_ns = 4;
  EXPECT_THAT(simulate(without(graph, {1}))->start, ElementsAre(0, 5, 5));
}

}  // namespace
}  // namespace ridgeline::step
