// Pipelines: where a model is split, and how long its step takes, against what follows by hand.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "jobs/predict/pipeline_stages.h"
#include "jobs/predict/pipeline_step.h"
#include "jobs/predict/predict_pipeline.h"
#include "step/simulate/simulate.h"
#include "tests/unit/rounds.h"

namespace ridgeline::jobs {
namespace {

using protocol::ChainModule;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A step of three modules on the host, in nanoseconds: 5 before; forward 10, 20, 30 and the loss 1; backward of the
/// loss 2, then 60, 40, 20; the optimizer 7.
step::Graph three_modules() {
  step::Graph graph;
  graph.names = {""};
  graph.lines = {{}};
  graph.modules = {"", "Net.a", "Net.b.inner", "Net.c"};
  graph.operations = {{}};
  graph.resources = {{"thread 0", step::Resource::Type::kHost}};
  const auto add = [&](std::int64_t ns, std::uint32_t module, analysis::Phase phase) {
    step::Task task;
    task.duration_ns = ns;
    task.module = module;
    task.phase = phase;
    task.next = static_cast<step::TaskId>(graph.tasks.size()) + 1;
    graph.tasks.push_back(task);
  };
  add(5, 0, analysis::Phase::kOther);
  for (const std::uint32_t module : {1U, 2U, 3U}) {
    add(std::int64_t{10} * module, module, analysis::Phase::kForward);
  }
  add(1, 0, analysis::Phase::kForward);
  add(2, 0, analysis::Phase::kBackward);
  for (const std::uint32_t module : {3U, 2U, 1U}) {
    add(std::int64_t{20} * module, module, analysis::Phase::kBackward);
  }
  add(7, 0, analysis::Phase::kOptimizer);
  graph.tasks.back().next = step::kNoTask;
  return graph;
}

protocol::Replica replica_of_three() {
  protocol::Replica replica;
  replica.chain = {{"a", 100, true}, {"b", 200, true}, {"c", 300, false}};
  replica.gradients = {{"c.weight", 3, "float32"}, {"b.inner.weight", 2, "float32"}, {"a.bias", 1, "float32"}};
  return replica;
}

TEST(PipelineStages, TheTimesOfItsPartsAddUpToTheStep) {
  const step::Graph graph = three_modules();
  const auto schedule = step::simulate(graph);
  const auto step = parts_of_step(graph, *schedule, true, replica_of_three());
  ASSERT_TRUE(step);
  EXPECT_EQ(step->before_ns, 5);
  EXPECT_EQ(step->optimizer_ns, 7);
  std::vector<std::array<double, 3>> parts;
  double sum = step->before_ns + step->optimizer_ns;
  for (const ChainPart& part : step->chain) {
    parts.push_back({part.forward_ns, part.backward_ns, static_cast<double>(part.weight_bytes)});
    sum += part.forward_ns + part.backward_ns;
  }
  EXPECT_THAT(parts, ElementsAre(ElementsAre(10, 20, 1), ElementsAre(20, 40, 2), ElementsAre(31, 62, 3)));
  EXPECT_EQ(sum, static_cast<double>(schedule->total_ns));
}

TEST(PipelineStages, AModuleThatRunsNothingTakesNothing) {
  const step::Graph graph = three_modules();
  protocol::Replica replica = replica_of_three();
  replica.chain.insert(replica.chain.begin() + 1, {"identity", 100, true});
  const auto step = parts_of_step(graph, *step::simulate(graph), true, replica);
  EXPECT_EQ(step->chain[1].forward_ns, 0);
  EXPECT_EQ(step->chain[1].backward_ns, 0);
  EXPECT_EQ(step->chain[2].forward_ns, 20);
}

TEST(PipelineStages, TheSlowestIsAsFastAsItCanBe) {
  const StepParts step{0, {{1, 2, 1}, {2, 4, 2}, {3, 6, 3}, {1, 1, 1}}, 0};
  std::vector<ChainModule> chain = {{"a", 10, true}, {"b", 20, true}, {"c", 30, true}, {"d", 40, false}};
  const auto two = balanced_stages(step, chain, 2);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->front().last, 1U);
  EXPECT_EQ(two->front().output_bytes, 20U);
  EXPECT_EQ(two->front().backward_ns, 6);
  EXPECT_EQ(two->back().weight_bytes, 4U);
  EXPECT_EQ(two->back().output_bytes, 0U);
  chain[1].may_split = false;  // a skip connection
  EXPECT_EQ(balanced_stages(step, chain, 2)->front().last, 0U);
  EXPECT_THAT(balanced_stages(step, chain, 4).error().message(), HasSubstr("split at 2 places"));
  EXPECT_EQ(balanced_stages(step, chain, 1)->front().last, 3U);
}

std::int64_t takes(const std::vector<StageTimes>& stages, int micro_batches, PipelineOrder order) {
  return step::simulate(pipeline_step(stages, {micro_batches, order}))->total_ns;
}

TEST(PipelineStep, EqualStagesWaitForAsManyMicroBatchesAsThereAreOtherStages) {
  for (const int stages : {1, 2, 4, 7}) {
    for (const int micro_batches : {1, 3, 8}) {
      const std::vector<StageTimes> all(static_cast<std::size_t>(stages), {5, 100, 200, 0, 7});
      const std::int64_t expected = 5 + 300 * (micro_batches + stages - 1) + 7;  // GPipe, section 2.3
      EXPECT_EQ(takes(all, micro_batches, PipelineOrder::kAllForwardFirst), expected);
      EXPECT_EQ(takes(all, micro_batches, PipelineOrder::kOneForwardOneBackward), expected);
    }
  }
}

TEST(PipelineStep, TransfersDelayWhatWaitsForThem) {
  std::vector<StageTimes> stages(2, {0, 100, 200});
  stages[0].transfer_ns = 30;
  EXPECT_EQ(takes(stages, 1, PipelineOrder::kOneForwardOneBackward), 600 + 2 * 30);
  stages[0].transfer_ns = 1000;
  EXPECT_EQ(takes(stages, 4, PipelineOrder::kAllForwardFirst), 100 + 4 * 1000 + 100 + 200 + 4 * 1000 + 200)
      << "each direction has one after the other";
  stages[0].transfer_ns = 0;
  stages[0].sending_ns = 10;
  EXPECT_EQ(takes(stages, 1, PipelineOrder::kOneForwardOneBackward), 600 + 4 * 10);
}

TEST(PipelineStep, TransfersThatAReceiverAsksForDelayIt) {
  std::vector<StageTimes> stages(2, {0, 100, 200});
  stages[0].transfer_ns = 30;
  const auto ns = [&](PipelineOrder order, bool asks) {
    return step::simulate(pipeline_step(stages, {4, order, 1, asks}))->total_ns;
  };
  EXPECT_EQ(ns(PipelineOrder::kAllForwardFirst, false), 1500 + 2 * 30);
  EXPECT_EQ(ns(PipelineOrder::kAllForwardFirst, true), 1500 + 8 * 30) << "each forward of the last stage, and each "
                                                                         "backward of the first, waits for its own";
  EXPECT_EQ(ns(PipelineOrder::kOneForwardOneBackward, true), 1500 + 5 * 30) << "both directions at once";
}

TEST(PipelineStep, GradientsAreAddedFromTheSecondMicroBatchOn) {
  const std::vector<StageTimes> stages(1, {0, 100, 200, 10});
  EXPECT_EQ(takes(stages, 1, PipelineOrder::kOneForwardOneBackward), 300);
  EXPECT_EQ(takes(stages, 4, PipelineOrder::kOneForwardOneBackward), 4 * 300 + 3 * 10);
}

TEST(PipelineStep, RanksThatWaitLeaveTheirMachineToTheOthers) {
  const std::vector<StageTimes> stages(2, {0, 100, 200});
  const auto ns = [&](const std::vector<StageTimes>& all, double slow_down) {
    return step::simulate(pipeline_step(all, {4, PipelineOrder::kAllForwardFirst, slow_down}))->total_ns;
  };
  EXPECT_EQ(ns(stages, 1), 300 * 5);
  // The first stage runs alone at the begin and at the end, the second in the middle, for one micro-batch each.
  EXPECT_EQ(ns(stages, 1.5), 450 * 3 + 300 * 2);
  std::vector<StageTimes> apart = stages;
  apart[1].machine = 1;
  EXPECT_EQ(ns(apart, 1.5), 300 * 5) << "each has a machine of its own";
}

/// With random stages, no step is shorter than its slowest stage's work or the way of one micro-batch through all.
TEST(PipelineStep, KeepsItsBoundsForRandomStages) {
  std::mt19937_64 random(7);
  const auto draw = [&](int most) { return static_cast<double>(std::uniform_int_distribution<int>(0, most)(random)); };
  for (int round = 0; round < ridgeline::testing::rounds(200, 50); ++round) {
    SCOPED_TRACE(round);
    std::vector<StageTimes> stages(1 + random() % 6);
    const int micro_batches = 1 + static_cast<int>(random() % 9);
    double slowest = 0;
    double way = 0;
    for (StageTimes& stage : stages) {
      stage = {draw(9), draw(99), draw(99), draw(9), draw(9), draw(99), 0, random() % 2};
      slowest = std::max(slowest, stage.before_ns + micro_batches * (stage.forward_ns + stage.backward_ns) +
                                      (micro_batches - 1) * stage.accumulate_ns + stage.optimizer_ns);
      way += stage.forward_ns + stage.backward_ns + (&stage == &stages.back() ? 0 : 2 * stage.transfer_ns);
    }
    for (const auto order : {PipelineOrder::kAllForwardFirst, PipelineOrder::kOneForwardOneBackward}) {
      const auto ns = static_cast<double>(takes(stages, micro_batches, order));
      EXPECT_GE(ns, slowest);
      EXPECT_GE(ns, way);
    }
  }
}

/// Machines as fast as the one that was recorded, and a link of 100 bytes/ns.
class SameMachines final : public PipelineCosts {
 public:
  double scale(Bound /*bound*/) const override { return 1; }
  double slow_down(Bound /*bound*/) const override { return 1; }
  PipelineTransfer transfer(double bytes, Bound bound) const override {
    return {bound == Bound::kFast ? 0 : bytes / 100, 0};
  }
};

TEST(PredictPipeline, IsBetweenItsEnds) {
  const SameMachines costs;
  const step::Graph graph = three_modules();
  const protocol::Replica replica = replica_of_three();
  PipelineProcess process{.graph = graph, .replica = replica, .costs = costs, .micro_batches = 4, .batch_size = 8};
  process.alone_ms = 198e-6;
  process.machine_of_stage = {0, 0};
  const auto pipeline = predict_pipeline(process);
  ASSERT_TRUE(pipeline);
  // Stage 0 has a and b, 30 and 60, and half of the optimizer, rounded to 4; stage 1 c and the loss, 31 and 62. A
  // transfer takes 2. Stage 1 waits 1 for its third micro-batch, which stage 0 runs after a backward.
  EXPECT_THAT(pipeline->step_ms.value, DoubleEq((5 + 30 + 2 + 4 * 93 + 1 + 2 + 60 + 4) / 1e6));
  EXPECT_LT(pipeline->step_ms.low, pipeline->step_ms.value);
  EXPECT_GT(pipeline->step_ms.high, pipeline->step_ms.value);
  EXPECT_EQ(pipeline->stages[0].last, "b");
  process.machine_of_stage = {0, 0, 0, 0};
  EXPECT_THAT(predict_pipeline(process).error().message(), HasSubstr("too few for 4 stages"));
}

}  // namespace
}  // namespace ridgeline::jobs
