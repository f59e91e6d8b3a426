#include "analysis/breakdown/line_costs.h"

#include <gmock/gmock.h>

#include "tests/unit/analysis/analysed.h"

namespace ridgeline::analysis {
namespace {

using testing::Analysed;
using ::testing::ElementsAre;
using testing::kEngine;
using testing::kLibrary;
using testing::kLoader;
using testing::kMs;
using testing::kNone;
using testing::kOptimizer;
using testing::RecordingBuilder;
using testing::Scope;

std::vector<std::string> other_names(const Analysed& analysed) {
  std::vector<std::string> names;
  for (const OtherCost& cost : analysed.lines.other) {
    if (cost.ms > 0 || cost.peak_bytes > 0) {
      names.push_back(cost.name);
    }
  }
  return names;
}

TEST(LineCosts, TellSelfFromTotal) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::a", builder.stack({{"train.py", "step", 3}, {"model.py", "forward", 5}}), 0, 6 * kMs});
  builder.op({"aten::b", builder.at("train.py", 3), 6 * kMs, 10 * kMs});
  const Analysed analysed(builder);
  EXPECT_DOUBLE_EQ(analysed.line("train.py:3")->self_ms, 4);
  EXPECT_DOUBLE_EQ(analysed.line("train.py:3")->total_ms, 10);
  EXPECT_DOUBLE_EQ(analysed.line("model.py:5")->self_ms, 6);
  EXPECT_DOUBLE_EQ(analysed.line("model.py:5")->total_ms, 6);
  EXPECT_DOUBLE_EQ(analysed.lines.user_ms, 10);
}

TEST(LineCosts, CountARecursiveLineOnce) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const testing::Frame again{"tree.py", "descend", 8};
  builder.op({"aten::a", builder.stack({{"train.py", "step", 3}, again, again, again}), 0, 10 * kMs});
  const Analysed analysed(builder);
  EXPECT_DOUBLE_EQ(analysed.line("tree.py:8")->self_ms, 10);
  EXPECT_DOUBLE_EQ(analysed.line("tree.py:8")->total_ms, 10);
  EXPECT_DOUBLE_EQ(analysed.line("train.py:3")->total_ms, 10);
}

TEST(LineCosts, OwnWhatLibrariesDoForThem) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::linear", builder.stack({{"model.py", "forward", 5}, kLibrary}), 0, 10 * kMs});
  const Analysed analysed(builder);
  EXPECT_DOUBLE_EQ(analysed.line("model.py:5")->self_ms, 10);
  EXPECT_EQ(analysed.lines.lines.size(), 1U);
}

TEST(LineCosts, LinesOfCodePackagesHaveTheirOwnFigures) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const testing::Frame call{"train.py", "step", 3};
  const auto first = builder.stack({call, {testing::kNetFile, "forward", 8}, kLibrary});
  builder.op({"aten::linear", first, 0, 4 * kMs, kNone, Scope::kFunction, 5});
  builder.op({"aten::relu", builder.stack({call, {testing::kNetFile, "forward", 9}}), 4 * kMs, 5 * kMs});
  builder.op({"aten::loss", builder.stack({call}), 5 * kMs, 6 * kMs});
  builder.backward("LinearBackward0", builder.stack({{"train.py", "step", 7}, kEngine}), 6 * kMs, 10 * kMs, 5);
  const Analysed plain(builder);
  EXPECT_DOUBLE_EQ(plain.line("train.py:3")->self_ms, 10);
  const Analysed analysed(builder, {{"nets", {"/env/site-packages/nets"}}});
  EXPECT_DOUBLE_EQ(analysed.line("train.py:3")->self_ms, 1);
  EXPECT_DOUBLE_EQ(analysed.line("train.py:3")->total_ms, 10);
  EXPECT_DOUBLE_EQ(analysed.line("train.py:7")->total_ms, 4);
  const LineCost& line = *analysed.line("/env/site-packages/nets/net.py:8");
  EXPECT_DOUBLE_EQ(line.self_ms, 8);
  EXPECT_DOUBLE_EQ(line.self_by_phase[static_cast<std::size_t>(Phase::kBackward)], 4);
  EXPECT_DOUBLE_EQ(analysed.line("/env/site-packages/nets/net.py:9")->self_ms, 1);
  EXPECT_DOUBLE_EQ(analysed.lines.user_ms, 10);
}

TEST(LineCosts, HoldBackwardAtTheForwardLineAndInTheTotalOfTheCall) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto forward = builder.stack({{"train.py", "step", 3}, {"model.py", "forward", 5}});
  builder.op({"aten::a", forward, 0, 4 * kMs, kNone, Scope::kFunction, 5});
  builder.backward("ABackward0", builder.stack({{"train.py", "step", 7}, kEngine}), 4 * kMs, 10 * kMs, 5);
  const Analysed analysed(builder);
  const LineCost& line = *analysed.line("model.py:5");
  EXPECT_DOUBLE_EQ(line.self_ms, 10);
  EXPECT_DOUBLE_EQ(line.self_by_phase[static_cast<std::size_t>(Phase::kForward)], 4);
  EXPECT_DOUBLE_EQ(line.self_by_phase[static_cast<std::size_t>(Phase::kBackward)], 6);
  EXPECT_DOUBLE_EQ(analysed.line("train.py:3")->total_ms, 10);
  EXPECT_DOUBLE_EQ(analysed.line("train.py:7")->self_ms, 0);
  EXPECT_DOUBLE_EQ(analysed.line("train.py:7")->total_ms, 6);
}

TEST(LineCosts, CountTimeOnceWhereForwardAndBackwardShareALine) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::a", builder.at("train.py", 3), 0, 4 * kMs, kNone, Scope::kFunction, 5});
  builder.backward("ABackward0", builder.stack({{"train.py", "run", 3}, kEngine}), 4 * kMs, 10 * kMs, 5);
  EXPECT_DOUBLE_EQ(Analysed(builder).line("train.py:3")->total_ms, 10);
}

TEST(LineCosts, NameWhatNoLineOwns) {
  RecordingBuilder builder;
  builder.iteration(0, 60 * kMs);
  builder.op({"aten::a", builder.stack({kLibrary}), 0, 8 * kMs});
  builder.op({"aten::b", builder.stack({kLoader}), 8 * kMs, 15 * kMs});
  builder.op({"aten::c", builder.stack({kOptimizer}), 15 * kMs, 21 * kMs});
  builder.op({"aten::d", builder.stack({kEngine}), 21 * kMs, 26 * kMs});
  builder.op({"aten::e", builder.at("a.py", 1), 30 * kMs, 58 * kMs});
  builder.sample(28 * kMs, 0);
  EXPECT_THAT(
      other_names(Analysed(builder)),
      ElementsAre("operations outside user lines", "data loading outside user lines", "optimizer outside user lines",
                  "autograd outside user lines", "Python outside user lines", "end of the iteration"));
}

TEST(LineCosts, NameMemoryThatNoLineOwns) {
  RecordingBuilder builder;
  builder.iteration(100, 200);
  builder.allocate({10, 0xA0, 700, 0, kNone, testing::Stage::kModel});
  const Analysed analysed(builder);
  ASSERT_EQ(other_names(analysed).size(), 2U);  // and the end of the iteration
  for (const OtherCost& other : analysed.lines.other) {
    EXPECT_EQ(other.peak_bytes, other.name == "weights outside user lines" ? 700U : 0U) << other.name;
  }
}

TEST(LineCosts, StandInOrderOfSelfTime) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::a", builder.at("a.py", 1), 0, 2 * kMs});
  builder.op({"aten::a", builder.at("a.py", 2), 2 * kMs, 7 * kMs});
  builder.op({"aten::a", builder.at("a.py", 3), 7 * kMs, 10 * kMs});
  std::vector<std::uint32_t> order;
  for (const LineCost& line : Analysed(builder).lines.lines) {
    order.push_back(line.location.line);
  }
  EXPECT_THAT(order, ElementsAre(2U, 3U, 1U));
}

TEST(LineCosts, ThatCostNothingAreLeftOut) {
  RecordingBuilder builder;
  builder.iteration(0, 10);
  builder.at("a.py", 1);
  builder.op({"aten::a", builder.at("a.py", 2), 0, 10});
  EXPECT_EQ(Analysed(builder).lines.lines.size(), 1U);
}

TEST(CallCounts, ComeFromTheCountsOfTheInterpreter) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::a", builder.stack({{"model.py", "forward", 5}}), 0, 10 * kMs});
  builder.op({"aten::a", builder.stack({{"model.py", "forward", 6}}), 10 * kMs, 10 * kMs});
  builder.runs("model.py", "forward", 5, 12);
  const Analysed analysed(builder);
  EXPECT_EQ(analysed.line("model.py:5")->calls, 12U);
  EXPECT_EQ(analysed.line("model.py:6"), nullptr);
}

TEST(CallCounts, AreAbsentForALineThatWasNotCounted) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::a", builder.at("a.py", 1), 0, 10 * kMs});
  builder.runs("a.py", "other", 2, 3).runs("b.py", "run", 1, 3);
  EXPECT_FALSE(Analysed(builder).line("a.py:1")->calls.has_value());
}

TEST(CallCounts, AComprehensionCountsAsItsLine) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::a", builder.stack({{"a.py", "f", 1}, {"a.py", "<listcomp>", 1}}), 0, 10 * kMs});
  builder.runs("a.py", "<listcomp>", 1, 64).runs("a.py", "f", 1, 2).runs("a.py", "<lambda>", 1, 9);
  EXPECT_EQ(Analysed(builder).line("a.py:1")->calls, 2U);
}

}  // namespace
}  // namespace ridgeline::analysis
