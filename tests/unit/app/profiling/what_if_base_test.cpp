#include "app/profiling/what_if_base.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/step/changes/listed_step.h"

namespace ridgeline::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(StandalonePeaks, NeedsTheMemoryOfAllThatCanBeRunAlone) {
  KnownTimes known;
  known["a"] = {.key = "a", .ns = 5, .low = 5, .high = 5, .samples = 1, .peak_bytes = 4096};
  known["sparse"] = {.key = "sparse", .reason = "a tensor that is sparse"};
  const auto peak = standalone_peaks(known);
  ASSERT_TRUE(peak);
  EXPECT_EQ(peak("a"), 4096U);
  EXPECT_EQ(peak("sparse"), std::nullopt);
  EXPECT_EQ(peak("another"), std::nullopt);
  known["late"] = {.key = "late", .reason = "there was no time left"};
  EXPECT_FALSE(standalone_peaks(known));
  known["late"] = {.key = "late", .ns = 5, .low = 5, .high = 5, .samples = 1};
  EXPECT_FALSE(standalone_peaks(known)) << "a table of others has times without memory";
}

KnownTimes known_times(int count) {
  KnownTimes known;
  for (int i = 0; i < count; ++i) {
    const std::string key = "known" + std::to_string(i);
    known[key] = {.key = key, .ns = 100.0 * (i + 1), .low = 90, .high = 110, .samples = 9};
  }
  return known;
}

TEST(WithReferences, MeasuresTheLongestKnownOnesAgainAmongTheOthers) {
  KnownTimes known = known_times(9);
  known["disturbed"] = {.key = "disturbed", .ns = 1e9, .low = 1e9, .high = 1e9, .samples = 3, .disturbed = true};
  known["sparse"] = {.key = "sparse", .reason = "a tensor that is sparse"};
  EXPECT_THAT(with_references({"a", "b", "c", "d", "e", "f", "g", "h"}, known),
              ElementsAre("a", "known8", "b", "c", "known7", "d", "e", "known6", "f", "g", "known5", "h"));
  EXPECT_THAT(with_references({"a"}, known), ElementsAre("a", "known8", "known7", "known6", "known5"));
  EXPECT_THAT(with_references({"a", "b"}, {}), ElementsAre("a", "b"));
  EXPECT_THAT(with_references({}, known), IsEmpty());
}

TEST(TakeTimes, AreGivenAtTheSpeedAtWhichTheReferencesWereKnown) {
  TimesForAnswer times{.known = known_times(3)};
  std::vector<std::string> unknown = {"a"};
  worker::ExperimentFindings findings;
  findings.threads = 2;
  // The machine takes twice as long as when the references were measured, of which one is preempted.
  findings.times = {{0, {900, 1000, 1100}, "", false, 64},
                    {1, {200}, "", false, {}},
                    {2, {400}, "", false, {}},
                    {3, {750}, "", false, {}}};
  const auto kept = take_times(findings, times, {"a", "known0", "known1", "known2"}, unknown);
  ASSERT_EQ(kept.size(), 1U) << "the references are known";
  EXPECT_DOUBLE_EQ(kept[0].ns, 500);
  EXPECT_DOUBLE_EQ(kept[0].low, 900 / 2.5);
  EXPECT_DOUBLE_EQ(kept[0].high, 1100 / 2.0);
  EXPECT_EQ(kept[0].peak_bytes, 64U);
  EXPECT_DOUBLE_EQ(times.known.at("a").ns, 500);
  EXPECT_DOUBLE_EQ(times.known.at("known0").ns, 100);
  EXPECT_EQ(times.measured, 1);
  EXPECT_THAT(unknown, IsEmpty());
}

TEST(TakeTimes, AreAsMeasuredWithFewReferences) {
  TimesForAnswer times{.known = known_times(2)};
  std::vector<std::string> unknown = {"a", "b"};
  worker::ExperimentFindings findings;
  findings.times = {{0, {900, 1000, 1100}, "", false, {}}, {1, {200}, "", false, {}}, {2, {400}, "", false, {}}};
  const auto kept = take_times(findings, times, {"a", "known0", "known1", "b"}, unknown);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_DOUBLE_EQ(kept[0].ns, 1000);
  EXPECT_THAT(unknown, ElementsAre("b")) << "it did not come to its end";
}

TEST(AddTrials, SaysWhichChangeWasTimedInOneProcessAndWhy) {
  analysis::ChangeAnswer row;
  row.change = {"threads:1"};
  row.title = "1 thread";
  analysis::WhatIf answer;
  answer.changes = {row};
  protocol::Tried tried;
  tried.unchanged_ns = {2e6, 2e6};
  tried.changed_ns = {1e6, 1e6};
  tried.unchanged_batch_size = tried.changed_batch_size = 4;
  add_trials(answer, {row.change}, {tried});
  EXPECT_THAT(answer.warnings, IsEmpty());
  tried.together_because = "OSError: the port is in use";
  add_trials(answer, {row.change}, {tried});
  ASSERT_TRUE(answer.changes[0].tried.has_value());
  EXPECT_DOUBLE_EQ(answer.changes[0].tried->speed_up.value, 2);
  EXPECT_THAT(answer.warnings, ElementsAre(AllOf(HasSubstr("1 thread was tried in one process"),
                                                 HasSubstr("OSError: the port is in use"))));
}

TEST(AddTrials, SaysWhichStepTorchCompileHadNotSettledIn) {
  analysis::ChangeAnswer row;
  row.change = {"compile"};
  row.title = "torch.compile";
  analysis::WhatIf answer;
  answer.changes = {row};
  protocol::Tried tried;
  tried.unchanged_ns = tried.changed_ns = {2e6, 2e6};
  tried.unchanged_batch_size = tried.changed_batch_size = 4;
  tried.changed_unsettled_steps = 20;
  add_trials(answer, {row.change}, {tried});
  EXPECT_THAT(answer.warnings, ElementsAre(HasSubstr("not settled after 20 steps of the changed step")));
}

analysis::ChangeAnswer predicted(std::string change, const analysis::SpeedUp& speed_up, double share = 1) {
  analysis::ChangeAnswer row;
  row.change = {std::move(change)};
  row.can_be_tried = true;
  row.predicted = analysis::PredictedChange{.speed_up = speed_up, .peak_bytes = {}, .measured_share = share};
  return row;
}

TEST(AnswerWhatIf, OffersNoPrecisionThatTheStepHasAlready) {
  protocol::Captured unchanged;
  protocol::CapturedStep& step = unchanged.step.emplace();
  step.keys = {R"(["aten::mm.default",["t:bfloat16:8,8:8,1:cpu","t:bfloat16:8,8:8,1:cpu"],{}])",
               R"(["aten::mm.default",["t:float32:2,2:2,1:cpu","t:float32:2,2:2,1:cpu"],{}])"};
  step.names = {"aten::mm"};
  step.operations = {{.key = 0}, {.key = 1}};
  const auto reason = [&](const char* change) {
    return answer_what_if(WhatIfBase{}, {{change}}, {unchanged}, {}).changes[0].reason;
  };
  EXPECT_EQ(reason("bf16-autocast"), "the step computes in bfloat16 already");
  EXPECT_THAT(reason("fp16-autocast"), Not(HasSubstr("already")));
  EXPECT_THAT(reason("fused-optimizer"), Not(HasSubstr("already")));
}

TEST(BaseAt, WhatAChangeBringsAtAnotherBatchSizeHasTheErrorsOfTheChangeAlone) {
  step::testing::Step step;
  step.operation("aten::mm", "32", 1'000'000).operation("aten::relu", "32", 100'000);
  WhatIfBase base;
  base.graph = step.graph;
  base.step_ms = base.answer.step_ms = 1.1;
  base.answer.batch_size = 32;
  KnownTimes known;
  for (const auto& [key, ns] :
       {std::pair("aten::mm32", 1e6), {"aten::mm64", 2e6}, {"aten::relu32", 1e5}, {"aten::relu64", 2e5}}) {
    known[key] = {.key = key, .ns = ns, .low = ns, .high = ns};
  }
  const auto of = [](int change, int batch_size, protocol::CapturedStep operations) {
    protocol::Captured captured;
    captured.change = change;
    captured.batch_size = batch_size;
    captured.step = std::move(operations);
    return captured;
  };
  const auto twice = step::testing::captured({{"aten::mm", "64"}, {"aten::relu", "64"}});
  const auto without_relu = step::testing::captured({{"aten::mm", "64"}});
  const auto unchanged = of(0, 32, step.captured);
  const auto both = answer_what_if(base, {{"batch-size:64"}, {"batch-size:64", "checkpoint"}},
                                   {unchanged, of(1, 64, twice), of(2, 64, without_relu)}, known);
  const auto at = base_at(base, unchanged, of(1, 64, twice), known);
  ASSERT_TRUE(at);
  EXPECT_NEAR(at->step_ms, 2.2, 1e-6);
  EXPECT_EQ(at->answer.batch_size, 64);
  const auto over = answer_what_if(*at, {{"checkpoint"}}, {of(0, 64, twice), of(1, 64, without_relu)}, known);
  ASSERT_TRUE(over.changes[0].predicted && both.changes[0].predicted && both.changes[1].predicted);
  const analysis::SpeedUp& found = over.changes[0].predicted->speed_up;
  EXPECT_NEAR(found.value, 1.1, 1e-6);
  EXPECT_NEAR(over.changes[0].predicted->step_ms, 2, 1e-6);
  EXPECT_LT(found.high / found.low, 1.2) << "only relu is another";
  for (const analysis::ChangeAnswer& row : both.changes) {
    EXPECT_GT(row.predicted->speed_up.high / row.predicted->speed_up.low, 1.25) << "all operations are others";
  }
  EXPECT_FALSE(base_at(base, unchanged, of(1, 64, without_relu), known)) << "not the same operations";
}

TEST(JudgePredictions, GivesNoneWhereMoreThanHalfWasNotMeasured) {
  analysis::WhatIf answer;
  answer.changes = {predicted("channels-last", {1.1, 0.72, 2.18}, 0), predicted("bf16-autocast", {1.4, 1.3, 1.5}, 0.5)};
  answer.changes[0].predicted->peak_bytes = 9;
  judge_predictions(answer);
  ASSERT_EQ(answer.changes[0].change.front(), "bf16-autocast");
  ASSERT_TRUE(answer.changes[0].predicted.has_value());
  EXPECT_DOUBLE_EQ(answer.changes[0].predicted->uncalibrated->low, 1.3);
  EXPECT_LE(answer.changes[0].predicted->speed_up.low, 1.3);
  EXPECT_FALSE(answer.changes[1].predicted.has_value());
  EXPECT_TRUE(answer.changes[1].reason.empty()) << "it applies, and can be tried";
  EXPECT_EQ(answer.changes[1].peak_bytes, 9U) << "its memory is known without times";
  EXPECT_EQ(answer.changes[1].not_predicted,
            "100 % of the changed time is of operations that could not be timed alone");
}

TEST(JudgePredictions, GivesNoneWhoseIntervalSaysNothing) {
  analysis::WhatIf answer;
  answer.changes = {predicted("bf16-autocast", {2, 0.5, 8}), predicted("channels-last", {1, 0.9, 1.1})};
  judge_predictions(answer);
  ASSERT_EQ(answer.changes[0].change.front(), "channels-last");
  EXPECT_TRUE(answer.changes[0].predicted.has_value());
  EXPECT_FALSE(answer.changes[1].predicted.has_value());
  EXPECT_THAT(answer.changes[1].not_predicted, HasSubstr("varies too much"));
}

TEST(OperationsThatDiffer, AreThoseOfOneStepAndWhatTheOtherHasOfTheirNames) {
  // mm(a) mm(b) add(c) | mm(a) foreach_add(d): a product and the sum are gone, and mm(a) tells how products compare.
  const protocol::CapturedStep unchanged{.keys = {"a", "b", "c", "e"},
                                         .names = {"mm", "add", "relu"},
                                         .modules = {""},
                                         .operations = {{0, 0}, {1, 0}, {2, 1}, {3, 2}}};
  const protocol::CapturedStep changed{.keys = {"a", "d", "e"},
                                       .names = {"mm", "foreach_add", "relu"},
                                       .modules = {""},
                                       .operations = {{0, 0}, {1, 1}, {2, 2}, {-1, 2}}};
  EXPECT_THAT(operations_that_differ(unchanged, changed), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(operations_that_differ(unchanged, unchanged), IsEmpty());
}

TEST(SortByGain, DoesNotPutWhatIsUnclearBeforeAGain) {
  analysis::WhatIf answer;
  answer.changes = {
      predicted("a", {1.5, 0.7, 2}), predicted("b", {0.8, 0.7, 0.9}), predicted("c", {1.1, 1.05, 1.2}), {}};
  sort_by_gain(answer);
  EXPECT_EQ(answer.changes[0].change.front(), "c");
  EXPECT_EQ(answer.changes[1].change.front(), "a");
  EXPECT_EQ(answer.changes[2].change.front(), "b");
}

TEST(SecondsToTry, AreOfWhatIsLeftToTry) {
  analysis::WhatIf answer;
  answer.step_ms = 1;
  answer.changes = {predicted("a", {1, 1, 1}), predicted("b", {1, 1, 1})};
  const auto both = seconds_to_try(answer, 5);
  ASSERT_TRUE(both.has_value());
  EXPECT_GT(*both, 2 * 12 * 0.1) << "twelve rounds of both steps";
  EXPECT_LT(*both, 60);
  answer.changes[0].tried.emplace();
  EXPECT_LT(*seconds_to_try(answer, 5), *both);
  answer.changes[1].can_be_tried = false;
  EXPECT_EQ(seconds_to_try(answer, 5), std::nullopt);
  answer.changes[1].can_be_tried = true;
  answer.step_ms = 20'000;
  EXPECT_GT(*seconds_to_try(answer, 5), 200);
}

TEST(WhatIf, TakesTheShortestSampleOfWhatWasDisturbed) {
  operations::OperationTime time{.key = "k", .ns = 5e6, .low = 2e6, .high = 9e6, .samples = 3};
  EXPECT_EQ(likely_ns(time), 5e6);
  time.disturbed = true;
  EXPECT_EQ(likely_ns(time), 2e6);
}

}  // namespace
}  // namespace ridgeline::app
