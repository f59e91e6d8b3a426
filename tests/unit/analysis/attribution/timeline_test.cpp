#include "analysis/attribution/timeline.h"

#include <gmock/gmock.h>

#include "tests/unit/analysis/analysed.h"

namespace ridgeline::analysis {
namespace {

using recording::Cost;
using testing::Analysed;
using ::testing::DoubleEq;
using testing::kEngine;
using testing::kLoader;
using testing::kNone;
using testing::kOptimizer;
using ::testing::Pair;
using testing::RecordingBuilder;
using testing::Scope;
using ::testing::UnorderedElementsAre;

constexpr std::uint64_t kUs = 1000;
constexpr std::uint64_t kMs = 1000 * kUs;

double sum(const Timeline& timeline) {
  double total = 0;
  for (const auto& [key, cost] : timeline.costs) {
    total += cost.ns;
  }
  return total;
}

TEST(Timeline, GivesAnOpItsTimeLessThatOfTheOpsInsideIt) {
  RecordingBuilder builder;
  builder.iteration(0, 100);
  const auto outer = builder.op({"aten::linear", builder.at("a.py", 1), 0, 100});
  builder.op({"aten::addmm", builder.at("a.py", 2), 20, 60, outer});
  const Analysed analysed(builder);
  EXPECT_THAT(analysed.ns_by_line(), UnorderedElementsAre(Pair("a.py:1", 60), Pair("a.py:2", 40)));
  EXPECT_EQ(analysed.timeline.total_ns, 100);
  EXPECT_EQ(analysed.timeline.recorded_ns, 100);
}

/// Iterations in which a.py:1 takes so much of 100 ns, and a.py:2 the rest.
RecordingBuilder iterations_with(std::initializer_list<std::uint64_t> parts) {
  RecordingBuilder builder;
  std::uint64_t start = 0;
  for (const std::uint64_t part : parts) {
    builder.iteration(start, start + 100);
    builder.op({"aten::a", builder.at("a.py", 1), start, start + part});
    builder.op({"aten::b", builder.at("a.py", 2), start + part, start + 100});
    start += 100;
  }
  return builder;
}

TEST(Timeline, KnowsHowMuchTheShareOfALineVaries) {
  const Analysed analysed(iterations_with({20, 40, 30}));
  EXPECT_NEAR(*analysed.line("a.py:1")->self_spread, 0.1 / 0.3, 1e-9) << "standard deviation / mean, of all three";
  EXPECT_NEAR(*analysed.line("a.py:2")->self_spread, 0.1 / 0.7, 1e-9);
  EXPECT_NEAR(*Analysed(iterations_with({30, 30, 30, 30})).line("a.py:1")->self_spread, 0, 1e-6);
}

TEST(Timeline, DoesNotSayHowMuchAShareVariesFromTwoIterations) {
  EXPECT_FALSE(Analysed(iterations_with({20, 40})).line("a.py:1")->self_spread.has_value());
}

TEST(Timeline, GivesAShortGapToTheNextOp) {
  RecordingBuilder builder;
  builder.iteration(0, 400 * kUs);
  builder.op({"aten::a", builder.at("a.py", 1), 50 * kUs, 100 * kUs});
  builder.op({"aten::b", builder.at("a.py", 2), 299 * kUs, 400 * kUs});
  builder.sample(200 * kUs, builder.at("a.py", 9));  // gaps this short are not divided
  EXPECT_THAT(Analysed(builder).ns_by_line(), UnorderedElementsAre(Pair("a.py:1", 100e3), Pair("a.py:2", 300e3)));
}

TEST(Timeline, GivesALongGapWithoutSamplesToTheNextOp) {
  RecordingBuilder builder;
  builder.iteration(0, 20 * kMs);
  builder.op({"aten::a", builder.at("a.py", 1), 10 * kMs, 20 * kMs});
  const Analysed analysed(builder);
  EXPECT_THAT(analysed.ns_by_line(), UnorderedElementsAre(Pair("a.py:1", 20e6)));
  for (const auto& [key, cost] : analysed.timeline.costs) {
    EXPECT_EQ(cost.ns, key.tail ? 0 : 10e6);  // half of it Python, half of it the op
  }
}

TEST(Timeline, DividesALongGapAtTheMidpointsOfItsSamples) {
  RecordingBuilder builder;
  builder.iteration(0, 20 * kMs);
  builder.op({"aten::a", builder.at("a.py", 1), 0, 10 * kMs});
  builder.sample(12 * kMs, builder.at("a.py", 5));  // 10 to 14
  builder.sample(16 * kMs, builder.at("a.py", 6));  // 14 to 17
  builder.sample(18 * kMs, builder.at("a.py", 5));  // 17 to 19
  builder.op({"aten::b", builder.at("a.py", 2), 19 * kMs, 20 * kMs});
  EXPECT_THAT(Analysed(builder).ns_by_line(), UnorderedElementsAre(Pair("a.py:1", 10e6), Pair("a.py:5", DoubleEq(6e6)),
                                                                   Pair("a.py:6", DoubleEq(3e6)), Pair("a.py:2", 1e6)));
}

TEST(Timeline, NamesTheTail) {
  RecordingBuilder builder;
  builder.iteration(0, 100);
  builder.op({"aten::a", builder.at("a.py", 1), 0, 60});
  EXPECT_THAT(Analysed(builder).ns_by_line(), UnorderedElementsAre(Pair("a.py:1", 60), Pair("tail", 40)));
}

TEST(Timeline, DividesALongTailBySamples) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::a", builder.at("a.py", 1), 0, 2 * kMs});
  builder.sample(5 * kMs, builder.at("a.py", 7));
  EXPECT_THAT(Analysed(builder).ns_by_line(), UnorderedElementsAre(Pair("a.py:1", 2e6), Pair("a.py:7", 8e6)));
}

TEST(Timeline, AnIterationWithoutOpsIsAllTail) {
  RecordingBuilder builder;
  builder.iteration(50, 100);
  EXPECT_THAT(Analysed(builder).ns_by_line(), UnorderedElementsAre(Pair("tail", 50)));
}

TEST(Timeline, TakesPausesOut) {
  RecordingBuilder builder;
  builder.iteration(0, 1000);
  builder.pause(100, 150);  // in the gap
  builder.pause(600, 700);  // in the op
  builder.pause(900, 910);  // at the very end of the op
  builder.op({"aten::a", builder.at("a.py", 1), 500, 900});
  EXPECT_THAT(Analysed(builder).ns_by_line(), UnorderedElementsAre(Pair("a.py:1", 450 + 300), Pair("tail", 90)));
}

TEST(Timeline, TakesPausesInAnyOrder) {
  RecordingBuilder builder;
  builder.iteration(0, 1000);
  builder.pause(600, 700);
  builder.pause(100, 150);
  builder.op({"aten::a", builder.at("a.py", 1), 0, 1000});
  EXPECT_EQ(Analysed(builder).ns("a.py:1"), 850);
}

TEST(Timeline, LeavesAPauseBeforeTheIterationAlone) {
  RecordingBuilder builder;
  builder.pause(10, 90);
  builder.iteration(100, 200);
  builder.op({"aten::a", builder.at("a.py", 1), 100, 200});
  EXPECT_EQ(Analysed(builder).timeline.total_ns, 100);
}

TEST(Timeline, TakesTheCostInsideAnOpFromTheOp) {
  RecordingBuilder builder;
  builder.cost(Cost::kInsideOp, 8).iteration(0, 100);
  const auto outer = builder.op({"aten::a", builder.at("a.py", 1), 0, 100});
  builder.op({"aten::b", builder.at("a.py", 2), 40, 60, outer});
  EXPECT_THAT(Analysed(builder).ns_by_line(), UnorderedElementsAre(Pair("a.py:1", 80 - 8), Pair("a.py:2", 20 - 8)));
}

TEST(Timeline, TakesTheCostAroundAnOpFromBothSides) {
  RecordingBuilder builder;
  builder.cost(Cost::kOutsideOp, 10).iteration(0, 100);
  const auto outer = builder.op({"aten::a", builder.at("a.py", 1), 20, 90});
  builder.op({"aten::b", builder.at("a.py", 2), 40, 60, outer});
  // a: 15 before it, and 70 less b's 20 and the 10 around b. The tail loses the other half of a's 10.
  EXPECT_THAT(Analysed(builder).ns_by_line(),
              UnorderedElementsAre(Pair("a.py:1", 15 + 40), Pair("a.py:2", 20), Pair("tail", 5)));
}

TEST(Timeline, TakesTheCostPerFrame) {
  RecordingBuilder builder;
  builder.cost(Cost::kPerFrame, 2).iteration(0, 100);
  builder.op({"aten::a", builder.stack({{"t.py", "f", 1}, {"t.py", "g", 2}, {"a.py", "h", 1}}), 20, 90});
  EXPECT_THAT(Analysed(builder).ns_by_line(), UnorderedElementsAre(Pair("a.py:1", 17 + 70), Pair("tail", 7)));
}

TEST(Timeline, TakesTheCostPerAllocatorEventOfItsThread) {
  RecordingBuilder builder;
  builder.cost(Cost::kPerMemory, 5).iteration(0, 100);
  const auto helper = builder.thread(2);
  builder.op({"aten::a", builder.at("a.py", 1), 0, 60});
  builder.allocate({10, 0xA0, 64}).allocate({20, 0xB0, 64});
  builder.allocate({30, 0xC0, 64, 0, kNone, recording::Stage::kIteration, helper});
  builder.release(80, 0xA0);
  EXPECT_THAT(Analysed(builder).ns_by_line(), UnorderedElementsAre(Pair("a.py:1", 50), Pair("tail", 35)));
}

TEST(Timeline, NeverGivesNegativeTime) {
  RecordingBuilder builder;
  builder.cost(Cost::kInsideOp, 1e6).cost(Cost::kOutsideOp, 1e6).iteration(0, 100);
  builder.op({"aten::a", builder.at("a.py", 1), 10, 20});
  const Analysed analysed(builder);
  EXPECT_EQ(analysed.timeline.total_ns, 0);
  for (const auto& [key, cost] : analysed.timeline.costs) {
    EXPECT_GE(cost.ns, 0);
  }
}

TEST(Timeline, UsesTheIterationsInTheMiddle) {
  RecordingBuilder builder;
  builder.iteration(0, 100).iteration(100, 1000).iteration(1000, 1120).iteration(2000, 5000);
  builder.op({"aten::a", builder.at("a.py", 1), 0, 100});
  builder.op({"aten::a", builder.at("a.py", 2), 100, 1000});
  builder.op({"aten::a", builder.at("a.py", 3), 1000, 1120});
  const Analysed analysed(builder);
  EXPECT_EQ(analysed.timeline.iterations, 2);
  EXPECT_THAT(analysed.ns_by_line(), UnorderedElementsAre(Pair("a.py:2", 450), Pair("a.py:3", 60)));
  EXPECT_EQ(analysed.timeline.recorded_ns, 510);
}

TEST(Timeline, UsesTheMiddleOneOfAnOddNumber) {
  RecordingBuilder builder;
  builder.iteration(0, 100).iteration(100, 300).iteration(300, 900);
  const Analysed analysed(builder);
  EXPECT_EQ(analysed.timeline.iterations, 1);
  EXPECT_EQ(analysed.timeline.total_ns, 200);
}

TEST(Timeline, IgnoresOtherThreadsAndOpsOutsideOfIterations) {
  RecordingBuilder builder;
  builder.iteration(100, 200);
  const auto helper = builder.thread(2);
  builder.op({"aten::a", builder.at("a.py", 9), 0, 50});
  builder.op({"aten::a", builder.at("a.py", 1), 120, 200});
  builder.op({"aten::a", builder.at("a.py", 9), 300, 400});
  builder.op({"aten::a", builder.at("a.py", 8), 100, 200, kNone, Scope::kFunction, -1, 0, helper});
  EXPECT_THAT(Analysed(builder).ns_by_line(), UnorderedElementsAre(Pair("a.py:1", 100)));
}

TEST(Timeline, ClipsAnOpThatOutlivesTheIteration) {
  RecordingBuilder builder;
  builder.iteration(0, 100);
  builder.op({"aten::a", builder.at("a.py", 1), 50, 500});
  const Analysed analysed(builder);
  EXPECT_EQ(analysed.timeline.total_ns, 100);
  EXPECT_EQ(analysed.ns("a.py:1"), 100);
}

TEST(Timeline, CountsOperationsThatTheUserCalled) {
  RecordingBuilder builder;
  builder.iteration(0, 100);
  const auto outer = builder.op({"aten::linear", builder.at("a.py", 1), 0, 40});
  builder.op({"aten::addmm", builder.at("a.py", 1), 10, 20, outer});
  builder.op({"aten::linear", builder.at("a.py", 1), 50, 90});
  std::uint64_t calls = 0;
  for (const auto& [key, cost] : Analysed(builder).timeline.costs) {
    calls += cost.calls;
  }
  EXPECT_EQ(calls, 2U);
}

/// A backward node from 0 to 10 ms, made at model.py:5; backward was called at train.py:7.
struct BackwardNode : RecordingBuilder {
  std::uint32_t forward = stack({{"train.py", "step", 3}, {"model.py", "forward", 5}});
  std::uint32_t engine = stack({{"train.py", "step", 7}, kEngine});
  BackwardNode() {
    iteration(0, 12 * kMs);
    op({"Swish", forward, 0, 1 * kMs, kNone, Scope::kFunction, 5});
    backward("SwishBackward", engine, 2 * kMs, 12 * kMs, 5);
  }
};

/// As above, but the node runs from 3 to 9 ms on a thread that autograd has for a device, while train.py:7 waits for
/// it.
RecordingBuilder node_on_a_thread(bool works_beside, bool is_of_the_user = false) {
  RecordingBuilder builder;
  const auto engine = builder.stack({{"train.py", "step", 7}, kEngine});
  builder.iteration(0, 12 * kMs).sample(6 * kMs, engine);
  builder.op({"Swish", builder.stack({{"train.py", "step", 3}, {"model.py", "forward", 5}}), 0, 1 * kMs, kNone,
              Scope::kFunction, 5});
  if (works_beside) {
    builder.op({"aten::add", engine, 4 * kMs, 6 * kMs});
  }
  const auto autograd = builder.thread(9);
  builder.op({"SwishBackward", is_of_the_user ? engine : 0, 3 * kMs, 9 * kMs, kNone, Scope::kBackward, 5, 1, autograd});
  return builder;
}

TEST(Timeline, GivesANodeOfAnAutogradThreadToTheForwardLine) {
  const Analysed analysed(node_on_a_thread(false));
  EXPECT_EQ(analysed.timeline.total_ns, 12 * kMs);
  EXPECT_THAT(analysed.ns_by_line(), UnorderedElementsAre(Pair("model.py:5", 7 * kMs), Pair("train.py:7", 5 * kMs)));
}

TEST(Timeline, GivesANodeNothingWhileTheIterationWorks) {
  const Analysed analysed(node_on_a_thread(true));
  EXPECT_EQ(analysed.timeline.total_ns, 12 * kMs);
  EXPECT_EQ(analysed.ns("model.py:5"), 5 * kMs);
}

TEST(Timeline, GivesNothingToNodesOfAThreadThatTheUserStarted) {
  const Analysed analysed(node_on_a_thread(false, true));
  EXPECT_EQ(analysed.ns("model.py:5"), 1 * kMs);
}

TEST(Timeline, GivesANodeAndTheGapBeforeItToTheForwardLine) {
  const Analysed analysed(BackwardNode{});
  EXPECT_THAT(analysed.ns_by_line(Phase::kBackward), UnorderedElementsAre(Pair("model.py:5", 11e6)));
  EXPECT_THAT(analysed.ns_by_line(Phase::kForward), UnorderedElementsAre(Pair("model.py:5", 1e6)));
}

TEST(Timeline, DividesANodeBySamplesOfItsOwnPython) {
  BackwardNode builder;
  builder.sample(4 * kMs, builder.child(builder.engine, {"swish.py", "backward", 44}));  // 2 to 6
  builder.sample(8 * kMs, builder.engine);                                               // 6 to 12
  const Analysed analysed(builder);
  EXPECT_THAT(analysed.ns_by_line(Phase::kBackward),
              UnorderedElementsAre(Pair("swish.py:44", DoubleEq(4e6)), Pair("model.py:5", DoubleEq(7e6))));
}

TEST(Timeline, GivesAShortGapOfPythonInsideANodeToTheNextOp) {
  RecordingBuilder builder;
  const auto forward = builder.stack({{"train.py", "step", 3}, {"model.py", "forward", 5}});
  const auto engine = builder.stack({{"train.py", "step", 7}, kEngine});
  builder.iteration(0, 400 * kUs);
  builder.op({"Swish", forward, 0, 100 * kUs, kNone, Scope::kFunction, 5});
  const auto node = builder.backward("SwishBackward", engine, 100 * kUs, 400 * kUs, 5);
  builder.op({"aten::mul", builder.child(engine, {"swish.py", "backward", 44}), 150 * kUs, 250 * kUs, node});
  builder.op({"aten::add", engine, 300 * kUs, 400 * kUs, node});  // the node's own
  EXPECT_THAT(Analysed(builder).ns_by_line(Phase::kBackward),
              UnorderedElementsAre(Pair("swish.py:44", DoubleEq(150e3)), Pair("model.py:5", DoubleEq(150e3))));
}

TEST(Timeline, DoesNotDivideAnOpOfTheDispatcher) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::mm", builder.at("a.py", 1), 0, 10 * kMs});
  builder.sample(5 * kMs, builder.at("a.py", 2));
  EXPECT_THAT(Analysed(builder).ns_by_line(), UnorderedElementsAre(Pair("a.py:1", 10e6)));
}

TEST(Timeline, TellsThePhaseOfSampledPython) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.sample(2 * kMs, builder.stack({{"train.py", "step", 2}, kLoader}));
  builder.sample(6 * kMs, builder.stack({{"train.py", "step", 9}, kOptimizer}));
  const Analysed analysed(builder);
  EXPECT_THAT(analysed.ns_by_line(Phase::kData), UnorderedElementsAre(Pair("train.py:2", DoubleEq(4e6))));
  EXPECT_THAT(analysed.ns_by_line(Phase::kOptimizer), UnorderedElementsAre(Pair("train.py:9", DoubleEq(6e6))));
}

/// Half of what lies around the first and the last op falls outside of the iteration.
TEST(Timeline, ClosesOverOddCosts) {
  BackwardNode builder;
  builder.cost(Cost::kInsideOp, 37).cost(Cost::kOutsideOp, 51).cost(Cost::kPerFrame, 3);
  const Analysed analysed(builder);
  EXPECT_NEAR(sum(analysed.timeline), 12e6 - 2 * 37 - (51 + 2 * 3), 1e-3);
  EXPECT_EQ(analysed.timeline.total_ns, sum(analysed.timeline));
}

}  // namespace
}  // namespace ridgeline::analysis
