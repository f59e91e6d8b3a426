// What a changed step is predicted to take, and what it took when it was tried.
#include "step/changes/predict_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "listed_step.h"
#include "step/changes/change_file.h"
#include "step/changes/predict_on_graph.h"

namespace ridgeline::step {
namespace {

using protocol::CapturedStep;
using protocol::StepPart;
using testing::capture_of;
using testing::captured;
using ::testing::ElementsAre;
using testing::standalone_times;
using testing::Step;

TEST(PredictOnGraph, ChangesOfTheGraphComeAfterThoseOfTheRunner) {
  Step step;
  step.operation("aten::mm", "32", 1'000'000).operation("aten::add", "32", 1'000'000);
  const auto times = standalone_times({{"aten::mm32", 1000}, {"aten::mm16", 500}, {"aten::add32", 1000}});
  const Baseline baseline{.step_ms = 2, .batch_size = 4};
  const ChangeBasis basis = step.basis(baseline, times);
  const auto halved = predict_step(basis, capture_of(captured({{"aten::mm", "16"}, {"aten::add", "32"}}), 8), times);
  ASSERT_TRUE(halved);
  EXPECT_DOUBLE_EQ(halved->predicted.step_ms, 1.5);
  const auto graph = graph_basis(step.graph, 2, {1e6, {}}, {});
  ASSERT_TRUE(graph);
  const auto half =
      parse_change(R"({"title": "t", "steps": [{"select": {"kind": "operation"}, "do": "scale", "factor": 0.5}]})");
  ASSERT_TRUE(half);
  const UserChanges user = {{"half", *half}};
  const auto both = predict_on_graph(after_runner(*graph, *halved, true), {"half"}, user);
  ASSERT_TRUE(both);
  EXPECT_NEAR(both->step_ms, 0.75, 1e-9);
  EXPECT_NEAR(both->speed_up.value, 2 * 2 / 0.75, 1e-9) << "twice the samples";
  EXPECT_TRUE(both->by_rule);
  // What was uncertain before the change of the graph is uncertain after it.
  const auto alone_on_graph = predict_on_graph(*graph, {"half"}, user);
  ASSERT_TRUE(alone_on_graph);
  EXPECT_FALSE(after_runner(*graph, *halved, false).facts.gradients.has_value());
  const auto width = [](const analysis::SpeedUp& speed) { return (speed.high - speed.low) / speed.value; };
  EXPECT_GT(width(both->speed_up), width(alone_on_graph->speed_up));
}

base::Result<analysis::PredictedChange> predicted_change(const Step& step, const Baseline& baseline,
                                                         const protocol::Captured& changed, StandaloneTimes times) {
  const ChangeBasis basis = step.basis(baseline, times);
  const auto predicted = predict_step(basis, changed, times);
  return predicted ? base::Result<analysis::PredictedChange>(predicted->predicted) : predicted.error();
}

TEST(PredictChange, ComparesSamplesPerSecond) {
  Step step;
  step.operation("aten::mm", "32", 1'000'000);
  const auto predicted =
      predicted_change(step, {.step_ms = 2, .batch_size = 32}, capture_of(captured({{"aten::mm", "64"}}), 64),
                       standalone_times({{"aten::mm32", 1000}, {"aten::mm64", 1500}}));
  ASSERT_TRUE(predicted);
  EXPECT_DOUBLE_EQ(predicted->step_ms, 3);  // the graph says 1 ms, the clock 2
  EXPECT_DOUBLE_EQ(predicted->speed_up.value, 2 * 2.0 / 3);
  EXPECT_LT(predicted->speed_up.low, predicted->speed_up.value);
  EXPECT_GT(predicted->speed_up.high, predicted->speed_up.value);
  EXPECT_EQ(predicted->measured_share, 1);
  EXPECT_FALSE(predicted->peak_bytes.has_value());
}

TEST(PredictChange, HooksMayWaitForTheDevice) {
  Step step;
  for (int i = 0; i < 3; ++i) {
    step.launched("aten::mm", "[t:a:cuda]", 10'000, 50'000);
  }
  step.wait();
  step.captured.host_ns = {20'000, 20'000, 20'000};
  CapturedStep hooked = step.captured;
  hooked.host_ns[2] = 60'000;
  const Baseline baseline{.step_ms = 0.16, .batch_size = 1};
  const auto same =
      predict_step(step.basis(baseline, standalone_times({})), capture_of(step.captured, 1), standalone_times({}));
  const auto changed =
      predict_step(step.basis(baseline, standalone_times({})), capture_of(hooked, 1), standalone_times({}));
  ASSERT_TRUE(same && changed);
  // The device is the slower one, and what the hosts do is hidden behind it, unless they wait for it: 70 and 150.
  EXPECT_DOUBLE_EQ(changed->predicted.step_ms, 0.16);
  EXPECT_GT(same->predicted.speed_up.low, 0.95);
  EXPECT_LE(changed->predicted.speed_up.low, 160.0 / (70 + 150));
  EXPECT_GT(changed->predicted.speed_up.low, 0.9 * 160 / (70 + 150));
  EXPECT_GT(changed->predicted.speed_up.high, 1);
  EXPECT_EQ(changed->predicted.largest_error, "hosts may wait for the device in code of the change");
}

TEST(PredictChange, WhatIsNotMeasuredWidensTheInterval) {
  Step step;
  step.operation("aten::mm", "32", 1'000'000);
  const Baseline baseline{.step_ms = 1, .batch_size = 32};
  std::string clause;
  const auto width = [&](StandaloneTimes times) {
    const auto predicted = predicted_change(step, baseline, capture_of(captured({{"aten::mm", "16"}}), 32), times);
    EXPECT_TRUE(predicted);
    clause = predicted->largest_error;
    return std::pair(predicted->speed_up.high - predicted->speed_up.low, predicted->measured_share);
  };
  const auto measured = width(standalone_times({{"aten::mm32", 1000}, {"aten::mm16", 1000}}));
  EXPECT_EQ(clause, "what operations take in the step and what they take alone differ by up to 15 %");
  const auto assumed = width(standalone_times({}));
  EXPECT_GT(assumed.first, 2 * measured.first);
  EXPECT_EQ(clause, "some of its operations could not be timed alone");
  EXPECT_EQ(assumed.second, 0);
}

TEST(PredictChange, WhatIsNotKnownOfTheStepIsNotKnownOfAChange) {
  Step step;
  step.operation("aten::mm", "32", 1'000'000).operation("aten::add", "32", 1'000'000);
  const auto speed_up = [&](double noise) {
    const auto changed = capture_of(captured({{"aten::mm", "32"}}), 32);
    return predicted_change(step, {.step_ms = 2, .batch_size = 32, .noise = noise}, changed, standalone_times({}))
        ->speed_up;
  };
  EXPECT_DOUBLE_EQ(speed_up(0).value, 2);
  EXPECT_DOUBLE_EQ(speed_up(1).value, 2);
  EXPECT_DOUBLE_EQ(speed_up(1).low, speed_up(0).low / 2);
  EXPECT_DOUBLE_EQ(speed_up(1).high, speed_up(0).high * 2);
}

TEST(PredictChange, EachPartsPeakChangesAsItsCapturedPeakDoes) {
  Step step;
  step.operation("aten::mm", "a", 100).operation("aten::mm", "a", 100, 0, StepPart::kBackward);
  step.graph.tasks[2].phase = analysis::Phase::kBackward;
  step.graph.bytes_at_start = 1000;
  step.graph.memory = {{1, 0, 500}, {2, 0, 300}, {2, 1, -800}};  // forward 1500, backward 1800
  const Baseline baseline{
      .step_ms = 1, .peak_bytes = 1800, .captured_peak_bytes = {{1400, 1500, 1000}}, .batch_size = 1};
  const auto peak = [&](std::array<std::uint64_t, protocol::kStepParts> changed) {
    const auto predicted =
        predicted_change(step, baseline, capture_of(step.captured, 1, changed), standalone_times({}));
    EXPECT_TRUE(predicted);
    return predicted->peak_bytes.value_or(0);
  };
  EXPECT_EQ(peak({1400, 1500, 1000}), 1800U);
  EXPECT_EQ(peak({1400, 1000, 1000}), 1500U);  // now the forward's is the largest
  EXPECT_EQ(peak({1900, 1500, 1000}), 2000U);
}

TEST(PredictChange, WhatTheOptimizerFreesBeforeBackwardIsNotItsPeak) {
  Step step;
  step.operation("aten::mm", "a", 100).operation("aten::detach", "a", 100, 0, StepPart::kOptimizer);
  step.operation("aten::mm", "a", 100, 0, StepPart::kBackward)
      .operation("aten::add", "a", 100, 0, StepPart::kOptimizer);
  step.graph.tasks[2].phase = analysis::Phase::kOptimizer;
  step.graph.tasks[3].phase = analysis::Phase::kBackward;
  step.graph.tasks[4].phase = analysis::Phase::kOptimizer;
  step.graph.bytes_at_start = 1000;
  step.graph.memory = {{1, 0, 500}, {2, 0, -100}, {3, 0, 200}, {3, 1, -700}, {4, 0, 50}};  // 1500, 1400, 1600, 900, 950
  const Baseline baseline{
      .step_ms = 1, .peak_bytes = 1600, .captured_peak_bytes = {{1500, 1600, 950}}, .batch_size = 1};
  const auto predicted =
      predicted_change(step, baseline, capture_of(step.captured, 1, {1000, 1100, 950}), standalone_times({}));
  ASSERT_TRUE(predicted);
  EXPECT_EQ(predicted->peak_bytes, 1100U);
}

TEST(PredictChange, AddsWhatOperationsAllocateForThemselves) {
  Step step;
  step.operation("aten::convolution", "a", 100).operation("aten::convolution", "a", 100, 0, StepPart::kBackward);
  protocol::Captured one = capture_of(step.captured, 1, {1400, 1500, 1000});
  one.alive = {{StepPart::kForward, 0, 1000}, {StepPart::kBackward, 0, 900}};
  EXPECT_THAT(peaks_of(one, {}), ElementsAre(1400, 1500, 1000));
  const auto known = [](std::uint64_t bytes) { return [bytes](const std::string&) { return std::optional(bytes); }; };
  EXPECT_THAT(peaks_of(one, known(450)), ElementsAre(1450, 1500, 1000)) << "the results are in it already";
  EXPECT_THAT(peaks_of(one, known(700)), ElementsAre(1700, 1600, 1000));
  EXPECT_THAT(peaks_of(one, [](const std::string&) { return std::nullopt; }), ElementsAre(1400, 1500, 1000));
}

TEST(PredictChange, ACaptureWithoutOperationsCannotBePredicted) {
  Step step;
  step.operation("aten::mm", "a", 100);
  EXPECT_FALSE(predicted_change(step, {.step_ms = 1, .batch_size = 1}, {}, standalone_times({})));
}

TEST(DescribeTrial, IsTheMedianOfThePairs) {
  protocol::Tried tried;
  tried.unchanged_ns = {200, 400, 600, 220, 200, 210, 190};
  tried.changed_ns = {100, 200, 300, 100, 100, 100, 100};  // whatever slows both does not count
  tried.unchanged_batch_size = 4;
  tried.changed_batch_size = 2;
  const analysis::TriedChange described = describe_trial(tried);
  EXPECT_DOUBLE_EQ(described.speed_up.value, 1);  // twice as fast, with half of the samples
  EXPECT_DOUBLE_EQ(described.speed_up.low, 0.95);
  EXPECT_DOUBLE_EQ(described.speed_up.high, 1.1);
}

}  // namespace
}  // namespace ridgeline::step
