#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../simulate/random_graph.h"
#include "step/changes/apply_change.h"
#include "step/changes/change_file.h"
#include "step/changes/change_table.h"
#include "step/changes/predict_on_graph.h"
#include "step/changes/steady_state.h"
#include "step/graph/changes.h"
#include "step/simulate/schedule_analysis.h"
#include "step/simulate/simulate.h"
#include "tests/unit/rounds.h"

namespace ridgeline::step {
namespace {

using testing::random_graph;

const int kGraphs = ridgeline::testing::rounds(200, 100);

/// With phases, kinds, names that rules look for, and blocks that are freed.
Graph random_step(std::mt19937& random) {
  Graph graph = random_graph(random, {.tasks = 40, .resources = 3, .longest_ns = 5'000'000});
  graph.names = {"",
                 "volta_sgemm",
                 "bn_fw",
                 "relu_elementwise<float>",
                 "Memcpy HtoD (Pageable -> Device)",
                 "ncclKernel_AllReduce"};
  graph.operations = {{}};
  std::vector<MemoryChange> memory;
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    Task& task = graph.tasks[id];
    task.name = static_cast<std::uint32_t>(random() % 6);
    task.phase = static_cast<analysis::Phase>(random() % analysis::kPhaseCount);
    task.kind = task.resource == 0 ? static_cast<Kind>(random() % 4) : task.name == 4 ? Kind::kCopy : Kind::kKernel;
    const auto birth = static_cast<TaskId>(random() % (id + 1));
    // The allocator belongs to the host.
    if (birth != id && task.resource == 0 && graph.tasks[birth].resource == 0) {
      const auto bytes = static_cast<std::int64_t>(random() % (8U << 20U)) + 1;
      graph.dependencies.push_back({birth, id, 0});  // it is freed after it was made
      memory.push_back({birth, 0, bytes});
      memory.push_back({id, 1, -bytes});
    }
  }
  graph.memory = memory;
  graph.end = static_cast<TaskId>(graph.tasks.size() - 1);
  graph.tasks[graph.end].kind = Kind::kMark;
  graph.tasks[graph.end].phase = analysis::Phase::kOther;
  return graph;
}

std::string argument_for(std::string_view name, std::mt19937& random) {
  const auto among = [&](std::vector<std::string> texts) { return texts[random() % texts.size()]; };
  const std::string n = std::to_string(2 + random() % 6);
  if (name == "faster") {
    return among({"layer=", "train.py:1="}) + n;
  }
  if (name == "without") {
    return among({"layer", "layer.0"});
  }
  if (name == "metaflow") {
    return among({"sgemm>relu=sgemm", "bn_fw>relu=relu", "relu>sgemm=sgemm"});
  }
  if (name == "blueconnect") {
    return n + "x4,10,100,10MB";
  }
  if (name == "bucket-size") {
    return "100MiB";
  }
  if (name == "loader-workers") {
    return among({n, n + ",1"});
  }
  if (name == "zero") {
    return "1=" + n + ",1MB";
  }
  if (name == "data-parallel" || name == "p3" || name == "dgc") {
    return n + ",10,10MB";
  }
  return "";
}

/// The bytes alive at each instant.
std::int64_t least_alive(const Graph& graph, const Schedule& schedule) {
  std::vector<std::pair<double, std::int64_t>> changes;
  for (const MemoryChange& change : graph.memory) {
    const auto start = static_cast<double>(schedule.start[change.task]);
    const auto end = static_cast<double>(schedule.end[change.task]);
    changes.emplace_back(start + (end - start) * static_cast<double>(change.at), change.bytes);
  }
  // At one instant what is made counts before what is freed.
  std::ranges::sort(changes, [](const auto& a, const auto& b) {
    return std::pair(a.first, -a.second) < std::pair(b.first, -b.second);
  });
  std::int64_t alive = graph.bytes_at_start;
  std::int64_t least = alive;
  for (const auto& [time, bytes] : changes) {
    least = std::min(least, alive += bytes);
  }
  return least;
}

TEST(RandomChanges, KeepGraphsWithoutCirclesAndMemoryAboveZero) {
  std::mt19937 random(24);
  std::map<std::string_view, int> made;
  for (int round = 0; round < kGraphs; ++round) {
    const Graph graph = random_step(random);
    for (const ChangeKind& kind : change_table()) {
      if (kind.on_graph == nullptr) {
        continue;
      }
      const std::string argument = argument_for(kind.name, random);
      for (const Bound bound : {Bound::kPessimistic, Bound::kMiddle, Bound::kOptimistic}) {
        auto changed = kind.on_graph({.graph = graph}, {argument, bound, {}});
        if (!changed) {
          EXPECT_FALSE(changed.error().message().empty());
          continue;
        }
        ++made[kind.name];
        const auto schedule = simulate(changed->graph);
        ASSERT_TRUE(schedule) << kind.name << ": " << schedule.error().message();
        EXPECT_GE(least_alive(changed->graph, *schedule), 0) << kind.name;
        EXPECT_TRUE(period_ns(*changed)) << kind.name;
      }
    }
  }
  for (const ChangeKind& kind : change_table()) {
    if (kind.on_graph != nullptr && kind.name != "data-parallel") {  // these graphs have collectives
      EXPECT_GT(made[kind.name], 0) << kind.name << " never applied";
    }
  }
}

TEST(RandomChanges, UsersChangesKeepGraphsWithoutCircles) {
  std::mt19937 random(7);
  int inserted = 0;
  for (int round = 0; round < kGraphs; ++round) {
    Graph graph = random_step(random);
    UserChange change;
    for (std::size_t i = 0; i < 1 + random() % 4; ++i) {
      UserStep step;
      step.what = static_cast<UserStep::Do>(random() % 6);
      step.select.phase = static_cast<analysis::Phase>(random() % analysis::kPhaseCount);
      step.amount = {2, 1, 0.5};
      step.name = "new";
      step.resource = step.what == UserStep::Do::kMove || random() % 2 == 0 ? "link:new" : "";
      if (random() % 2 == 0) {
        step.before.emplace();
        step.before->phase = static_cast<analysis::Phase>(random() % analysis::kPhaseCount);
      }
      inserted += step.what == UserStep::Do::kInsert ? 1 : 0;
      change.steps.push_back(step);
    }
    const auto changed = apply(change, {.graph = graph}, Bound::kMiddle);
    if (changed) {
      const auto schedule = simulate(changed->graph);
      ASSERT_TRUE(schedule) << schedule.error().message();
    }
  }
  EXPECT_GT(inserted, 0);
}

TEST(RandomChanges, AChangeAndItsInverseGiveTheSameSchedule) {
  std::mt19937 random(5);
  for (int round = 0; round < kGraphs; ++round) {
    const Graph graph = random_step(random);
    const auto before = simulate(graph);
    const Selection chosen = select_phase(graph, analysis::Phase::kForward);
    for (const double factor : {2.0, 3.0, 8.0}) {
      const auto after = simulate(scaled(scaled(graph, chosen, factor), chosen, 1 / factor));
      EXPECT_EQ(after->start, before->start);
      EXPECT_EQ(after->end, before->end);
    }
    // A task that is in no order of its resource keeps its place there when it comes back.
    std::vector<bool> in_order(graph.tasks.size());
    for (TaskId id = 0; id < graph.tasks.size(); ++id) {
      if (graph.tasks[id].next != kNoTask) {
        in_order[id] = in_order[graph.tasks[id].next] = true;
      }
    }
    for (TaskId id = 0; id < graph.tasks.size(); ++id) {
      if (in_order[id]) {
        continue;
      }
      const std::uint16_t home = graph.tasks[id].resource;
      const auto away = static_cast<std::uint16_t>((home + 1) % graph.resources.size());
      const auto after = simulate(moved(moved(graph, {id}, away), {id}, home));
      EXPECT_EQ(after->start, before->start);
      EXPECT_EQ(after->order, before->order);
    }
    const auto after = simulate(with_priority(with_priority(graph, {3}, 9), {3}, graph.tasks[3].priority));
    EXPECT_EQ(after->start, before->start);
  }
}

}  // namespace
}  // namespace ridgeline::step
