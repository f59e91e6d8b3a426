#include "analysis/memory/memory.h"

#include <gmock/gmock.h>

#include "tests/unit/analysis/analysed.h"

namespace ridgeline::analysis {
namespace {

using testing::Analysed;
using testing::kEngine;
using testing::kLoader;
using testing::kNone;
using testing::kOptimizer;
using ::testing::Pair;
using testing::RecordingBuilder;
using testing::Role;
using testing::Scope;
using testing::Stage;
using ::testing::UnorderedElementsAre;

TEST(Peak, IsTheMostThatWasAliveAtOnce) {
  RecordingBuilder builder;
  builder.iteration(0, 100);
  builder.allocate({10, 0xA0, 100}).allocate({20, 0xB0, 50}).release(30, 0xA0).allocate({40, 0xC0, 80});
  const Analysed analysed(builder);
  EXPECT_EQ(analysed.memory.peak_bytes, 150U);
  EXPECT_EQ(testing::peak_bytes(analysed.recording), 150U);
  EXPECT_EQ(analysed.memory.at_peak.size(), 2U);
}

TEST(Peak, IsInsideAnIterationAndNotBetween) {
  RecordingBuilder builder;
  builder.iteration(100, 200).iteration(300, 400);
  builder.allocate({50, 0xA0, 9000, 0, kNone, Stage::kPrepare}).release(60, 0xA0);
  builder.allocate({110, 0xB0, 10}).release(190, 0xB0);
  builder.allocate({250, 0xC0, 5000}).release(260, 0xC0);
  builder.allocate({310, 0xD0, 20}).release(390, 0xD0);
  builder.allocate({450, 0xE0, 7000});
  const Analysed analysed(builder);
  EXPECT_EQ(analysed.memory.peak_bytes, 20U);
  EXPECT_EQ(testing::peak_bytes(analysed.recording), 20U);
}

TEST(Peak, MayStandAtTheVeryStartOfAnIteration) {
  RecordingBuilder builder;
  builder.iteration(100, 200);
  builder.allocate({10, 0xA0, 700, 0, kNone, Stage::kModel}).release(110, 0xA0).allocate({120, 0xB0, 60});
  const Analysed analysed(builder);
  EXPECT_EQ(analysed.memory.peak_bytes, 700U);
  EXPECT_EQ(testing::peak_bytes(analysed.recording), 700U);
  EXPECT_THAT(analysed.peak_by_category(), UnorderedElementsAre(Pair("weights", 700U)));
}

TEST(Peak, WithoutEventsIsWhatWasAliveBefore) {
  RecordingBuilder builder;
  builder.iteration(100, 200);
  builder.allocate({10, 0xA0, 700, 0, kNone, Stage::kModel});
  EXPECT_EQ(Analysed(builder).memory.peak_bytes, 700U);
}

TEST(Peak, CountsEventsOnTheEdgesOfTheIteration) {
  RecordingBuilder builder;
  builder.iteration(100, 200);
  builder.allocate({100, 0xA0, 7}).allocate({200, 0xB0, 9}).allocate({201, 0xC0, 11});
  EXPECT_EQ(Analysed(builder).memory.peak_bytes, 16U);
}

TEST(Peak, NothingIsZero) {
  RecordingBuilder builder;
  builder.iteration(0, 100);
  const Analysed analysed(builder);
  EXPECT_EQ(analysed.memory.peak_bytes, 0U);
  EXPECT_TRUE(analysed.memory.at_peak.empty());
}

TEST(Peak, IgnoresTheReleaseOfAnUnknownBlock) {
  RecordingBuilder builder;
  builder.iteration(0, 100);
  builder.release(10, 0xA0).allocate({20, 0xB0, 50}).release(25, 0xC0).allocate({30, 0xD0, 5});
  EXPECT_EQ(Analysed(builder).memory.peak_bytes, 55U);
}

TEST(Peak, EndsABlockWhoseAddressIsHandedOutAgain) {
  RecordingBuilder builder;
  builder.iteration(0, 100);
  builder.allocate({10, 0xA0, 100}).allocate({20, 0xA0, 30}).allocate({30, 0xB0, 20});
  const Analysed analysed(builder);
  EXPECT_EQ(analysed.memory.peak_bytes, 100U);
  EXPECT_EQ(testing::peak_bytes(analysed.recording), 100U);
}

/// One training step: iteration from 1000 to 2000, forward until 1400, backward until 1700, then the optimizer. The
/// peak is made by `at_peak` bytes at 1500 or wherever a test puts more.
struct AllocatingStep : RecordingBuilder {
  AllocatingStep() { iteration(1000, 2000); }
  std::uint32_t net = instance("Net", "net");
  std::uint32_t build_line = at("model.py", 5);
  std::uint32_t forward = stack({{"train.py", "step", 3}, {"model.py", "forward", 20, net}});
  std::uint32_t engine = stack({{"train.py", "step", 7}, kEngine});
  std::uint32_t optimizer = stack({{"train.py", "step", 9}, kOptimizer});
  std::uint32_t forward_op = op({"aten::linear", forward, 1100, 1400, kNone, Scope::kFunction, 5});
  std::uint32_t node = backward("AddmmBackward0", engine, 1450, 1700, 5);
  std::uint32_t optimizer_op = op({"aten::add_", optimizer, 1800, 1900});
};

/// An input that requires gradients keeps its own from step to step, as an optimizer keeps its state.
TEST(Categories, TheGradientOfAnInputIsAGradient) {
  AllocatingStep step;
  step.iteration(3000, 4000).iteration(5000, 6000);
  step.allocate({1500, 0xB0, 400, step.engine, step.node}).role(1790, 0xB0, Role::kGradient);
  step.allocate({3500, 0xC0, 800, step.engine}).release(3600, 0xC0);
  const Analysed analysed(step);
  EXPECT_EQ(analysed.memory.peak_bytes, 1200U);
  for (const MemoryCost& cost : analysed.memory.at_peak) {
    EXPECT_EQ(cost.category == Category::kGradients, cost.bytes == 400);
  }
  EXPECT_TRUE(analysed.memory.gradients.empty()) << "they are no line's parameters'";
}

TEST(Categories, WeightsComeFromTheirRole) {
  AllocatingStep step;
  const auto weight = step.parameter("net.weight", 0xA0);
  step.allocate({10, 0xA0, 400, step.build_line, kNone, Stage::kModel});
  step.allocate({20, 0xB0, 40, step.build_line, kNone, Stage::kModel});  // a buffer
  step.allocate({30, 0xC0, 4, step.build_line, kNone, Stage::kModel});   // made by the provider, named by nobody
  step.role(500, 0xA0, Role::kParameter, weight).role(500, 0xB0, Role::kBuffer, step.parameter("net.mean", 0xB0));
  const Analysed analysed(step);
  EXPECT_THAT(analysed.peak_by_category(), UnorderedElementsAre(Pair("weights", 444U)));
  ASSERT_NE(analysed.line("model.py:5"), nullptr);
  EXPECT_EQ(analysed.line("model.py:5")->weights_bytes, 444U);
  EXPECT_EQ(analysed.line("model.py:5")->peak_bytes, 444U);
}

TEST(Categories, GradientsBelongToTheLineOfTheParameter) {
  AllocatingStep step;
  const auto weight = step.parameter("net.weight", 0xA0);
  step.allocate({10, 0xA0, 400, step.build_line, kNone, Stage::kModel}).role(500, 0xA0, Role::kParameter, weight);
  step.allocate({1500, 0xB0, 400, step.engine, step.node}).role(1790, 0xB0, Role::kGradient, weight);
  step.release(1950, 0xB0);
  const Analysed analysed(step);
  EXPECT_THAT(analysed.peak_by_category(), UnorderedElementsAre(Pair("weights", 400U), Pair("gradients", 400U)));
  EXPECT_EQ(analysed.line("model.py:5")->gradients_bytes, 400U);
  EXPECT_EQ(analysed.line("model.py:5")->peak_bytes, 800U);
  EXPECT_EQ(analysed.line("model.py:20")->peak_bytes, 0U);
}

TEST(Categories, CountTheLastGradientOfAParameterOnce) {
  AllocatingStep step;
  const auto weight = step.parameter("net.weight", 0xA0);
  step.allocate({10, 0xA0, 400, step.build_line, kNone, Stage::kModel}).role(500, 0xA0, Role::kParameter, weight);
  step.allocate({1500, 0xB0, 400, step.engine, step.node});
  step.role(1790, 0xB0, Role::kGradient, weight).role(2001, 0xB0, Role::kGradient, weight);
  EXPECT_EQ(Analysed(step).line("model.py:5")->gradients_bytes, 400U);
}

TEST(Categories, TellOptimizerStateOldAndNew) {
  AllocatingStep step;
  step.allocate({50, 0xA0, 100, step.optimizer, kNone, Stage::kIteration});                // an earlier step made it
  step.allocate({60, 0xB0, 10, step.at("train.py", 2), kNone, Stage::kPrepare});           // ... or the user's own code
  step.allocate({1810, 0xC0, 200, step.optimizer, step.optimizer_op});                     // stays: state
  step.allocate({1820, 0xD0, 30, step.optimizer, step.optimizer_op}).release(1890, 0xD0);  // scratch
  EXPECT_THAT(Analysed(step).peak_by_category(),
              UnorderedElementsAre(Pair("optimizerState", 310U), Pair("temporaries", 30U)));
}

TEST(Categories, BlocksOfAnEarlierStepKeepTheirCategory) {
  AllocatingStep step;
  step.iteration(3000, 4000);
  const auto forward_op = step.op({"aten::linear", step.forward, 3100, 3400, kNone, Scope::kFunction, 6});
  step.backward("AddmmBackward0", step.engine, 3450, 3700, 6);
  step.allocate({1150, 0xA0, 1000, step.forward, step.forward_op});  // the output: a variable keeps it
  step.allocate({1500, 0xB0, 200, step.engine, step.node});          // another thread frees it late
  step.allocate({1850, 0xC0, 40, step.optimizer});                   // a moment, replaced in each step
  step.allocate({1950, 0xD0, 8, step.at("train.py", 11)});           // an average, which stays
  step.allocate({3150, 0xE0, 1000, step.forward, forward_op});       // the output of this step
  step.release(3160, 0xA0).release(3170, 0xB0).release(3850, 0xC0);
  EXPECT_THAT(Analysed(step).peak_by_category(),
              UnorderedElementsAre(Pair("activations", 2000U), Pair("temporaries", 200U), Pair("optimizerState", 48U)));
}

TEST(Categories, BucketsOfDistributedDataParallelAreTemporaries) {
  constexpr testing::Frame kDdp{"/env/site-packages/torch/nn/parallel/distributed.py", "_pre_forward", 1600};
  AllocatingStep step;
  step.allocate({20, 0xA0, 100, step.stack({{"train.py", "main", 1}, kDdp}), kNone, Stage::kLoad});
  step.allocate({60, 0xB0, 400, step.child(step.forward, kDdp)});  // made anew in the second step
  step.allocate({70, 0xC0, 30});                                   // of a thread without Python
  EXPECT_THAT(Analysed(step).peak_by_category(),
              UnorderedElementsAre(Pair("temporaries", 500U), Pair("optimizerState", 30U)));
}

TEST(Categories, TellInputsByRoleStageAndLoader) {
  AllocatingStep step;
  step.allocate({50, 0xA0, 1, step.at("data.py", 1), kNone, Stage::kInput});
  step.allocate({60, 0xB0, 2, step.at("data.py", 2), kNone, Stage::kLoad});
  step.allocate({1010, 0xC0, 4, step.stack({{"train.py", "step", 2}, kLoader})});
  step.allocate({1020, 0xD0, 8, step.at("train.py", 2)}).role(1030, 0xD0, Role::kInput);
  EXPECT_THAT(Analysed(step).peak_by_category(), UnorderedElementsAre(Pair("inputs", 15U)));
}

TEST(Categories, CallActivationsWhatOutlivesForward) {
  AllocatingStep step;
  step.allocate({1150, 0xA0, 1000, step.forward, step.forward_op});
  step.allocate({1160, 0xB0, 100, step.forward, step.forward_op}).release(1200, 0xB0);
  step.release(1600, 0xA0);
  const Analysed analysed(step);
  EXPECT_THAT(analysed.peak_by_category(), UnorderedElementsAre(Pair("activations", 1000U), Pair("temporaries", 100U)));
  EXPECT_EQ(analysed.line("model.py:20")->activations_bytes, 1000U);
  EXPECT_EQ(analysed.line("model.py:20")->peak_bytes, 1100U);
}

TEST(Categories, CallWorkOfBackwardTemporary) {
  AllocatingStep step;
  step.allocate({1500, 0xA0, 64, step.engine, step.node}).release(1600, 0xA0);
  const Analysed analysed(step);
  EXPECT_THAT(analysed.peak_by_category(), UnorderedElementsAre(Pair("temporaries", 64U)));
  EXPECT_EQ(analysed.line("model.py:20")->peak_bytes, 64U);  // the line whose backward it is
}

TEST(Categories, HaveNoActivationsWithoutBackward) {
  RecordingBuilder builder;
  builder.iteration(1000, 2000);
  builder.allocate({1150, 0xA0, 1000, builder.at("eval.py", 3)});
  EXPECT_THAT(Analysed(builder).peak_by_category(), UnorderedElementsAre(Pair("temporaries", 1000U)));
}

TEST(Categories, PreferAParameterToAGradientAndAnInput) {
  AllocatingStep step;
  const auto weight = step.parameter("net.weight", 0xA0);
  step.allocate({10, 0xA0, 400, step.build_line, kNone, Stage::kModel});
  step.role(400, 0xA0, Role::kInput).role(500, 0xA0, Role::kParameter, weight).role(600, 0xA0, Role::kGradient, weight);
  EXPECT_THAT(Analysed(step).peak_by_category(), UnorderedElementsAre(Pair("weights", 400U)));
}

TEST(Roles, BelongToTheBlockThatLivedAtTheirTime) {
  AllocatingStep step;
  const auto weight = step.parameter("net.weight", 0xA0);
  step.allocate({1500, 0xB0, 100, step.engine, step.node}).role(1550, 0xB0, Role::kGradient, weight);
  step.release(1600, 0xB0);
  step.allocate({1650, 0xB0, 300, step.engine, step.node});  // the same address, another block
  EXPECT_THAT(Analysed(step).peak_by_category(), UnorderedElementsAre(Pair("temporaries", 300U)));
}

TEST(Roles, RolesWithoutABlockAreIgnored) {
  AllocatingStep step;
  step.allocate({1500, 0xB0, 100, step.engine, step.node});
  step.role(1550, 0xDEAD, Role::kGradient, step.parameter("net.weight", 0));
  EXPECT_EQ(Analysed(step).memory.peak_bytes, 100U);
}

TEST(Owners, APythonFrameInsideAnOpOwnsItsBlock) {
  RecordingBuilder builder;
  builder.iteration(1000, 2000);
  const auto outer = builder.at("train.py", 9);
  const auto range = builder.op({"Optimizer.step", outer, 1100, 1900, kNone, Scope::kUser});
  builder.allocate({1200, 0xA0, 10, builder.child(outer, {"own_optimizer.py", "step", 30}), range});
  EXPECT_EQ(Analysed(builder).line("own_optimizer.py:30")->peak_bytes, 10U);
}

}  // namespace
}  // namespace ridgeline::analysis
