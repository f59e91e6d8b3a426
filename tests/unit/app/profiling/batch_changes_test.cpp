#include "app/profiling/batch_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/make_fit.h"

namespace ridgeline::app {
namespace {

using analysis::ChangeAnswer;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

ChangeAnswer row(protocol::ChangeRequest change, double speed_up, double step_ms, std::uint64_t peak_bytes) {
  ChangeAnswer answer;
  answer.change = std::move(change);
  answer.predicted = analysis::PredictedChange{
      .speed_up = {speed_up, speed_up / 1.1, speed_up * 1.2}, .step_ms = step_ms, .peak_bytes = peak_bytes};
  return answer;
}

analysis::WhatIf answer_for_64() {
  analysis::WhatIf answer;
  answer.entry_path = "/home/somebody/entry.py";
  answer.batch_size = 32;
  answer.step_ms = 10;
  ChangeAnswer refused;
  refused.change = {"batch-size:64", "checkpoint"};
  refused.reason = "no kind of module is repeated";
  answer.changes = {row({"batch-size:64"}, 1, 20, 1000), row({"batch-size:64", "accumulate:2"}, 0.8, 25, 600),
                    row({"batch-size:64", "bf16-autocast"}, 1.6, 12.5, 700), row({"batch-size:64", "big"}, 2, 10, 900),
                    refused};
  return answer;
}

TEST(RefinedBatch, IsThePredictionWithItsInterval) {
  analysis::WhatIf answer = answer_for_64();
  const auto refined = refined_batch(answer, 64);
  ASSERT_TRUE(refined);
  EXPECT_DOUBLE_EQ(refined->ms.value, 20);
  EXPECT_DOUBLE_EQ(refined->ms.low, 20 / 1.2);
  EXPECT_DOUBLE_EQ(refined->ms.high, 20 * 1.1);
  EXPECT_DOUBLE_EQ(refined->samples_per_second.value, 3200);
  EXPECT_FALSE(refined_batch(answer, 65));
}

TEST(MakeFit, AsksAboutTheBatchSizeAloneFirst) {
  const auto requests = fitting_requests(64, true);
  EXPECT_THAT(requests.front(), ElementsAre("batch-size:64"));
  EXPECT_THAT(requests.back(), ElementsAre("batch-size:64", "selective-checkpoint", "accumulate:2"));
  const auto on_device = fitting_requests(64, false);
  EXPECT_THAT(on_device, IsSupersetOf(requests));
  EXPECT_THAT(on_device, Contains(ElementsAre("batch-size:64", "offload")));
  EXPECT_LE(on_device.size(), protocol::kMaxChanges);
}

TEST(MakeFit, RanksWhatFitsBySpeedAndCountsFromTheFittedPeak) {
  // The fitted peak is 100 more than what was captured: so is each change's.
  const auto made = make_fit(answer_for_64(), {}, 64, 850, 1100.0);
  ASSERT_TRUE(made);
  std::vector<std::string> names;
  for (const analysis::FittingChange& change : made->changes) {
    names.push_back(change.change.empty() ? "" : change.change.front());
  }
  EXPECT_THAT(names, ElementsAre("", "bf16-autocast", "accumulate:2", "big", "checkpoint"));
  EXPECT_EQ(made->changes[0].peak_bytes, 1100U);
  EXPECT_FALSE(made->changes[0].fits);
  EXPECT_EQ(made->changes[1].peak_bytes, 800U);
  EXPECT_TRUE(made->changes[1].fits);
  EXPECT_FALSE(made->changes[3].fits);
  EXPECT_DOUBLE_EQ(made->changes[1].speed_up.value, 1.6);
  // As wide as two independent errors.
  EXPECT_LT(made->changes[1].speed_up.low, 1.6 / 1.1);
  EXPECT_GT(made->changes[1].speed_up.high, 1.6 * 1.2);
  const std::string text = report::text_make_fit(*made);
  EXPECT_THAT(text, HasSubstr("does not fit into 850 B as it is. These changes are predicted to make it fit"));
  EXPECT_THAT(text, HasSubstr("checkpoint is left out: no kind of module is repeated"));
}

TEST(MakeFit, TakesIntervalsOfTheStepAtThatBatchSizeWhereTheyAreKnown) {
  ChangeAnswer over = row({"bf16-autocast"}, 1.58, 13, 0);
  over.predicted->speed_up = {1.58, 1.5, 1.7};
  over.predicted->largest_error = "no step takes the same time twice";
  const auto made = make_fit(answer_for_64(), {&over, 1}, 64, 850, 1100.0);
  ASSERT_TRUE(made);
  EXPECT_DOUBLE_EQ(made->changes[1].speed_up.low, 1.5);
  EXPECT_EQ(made->changes[1].largest_error, "no step takes the same time twice");
  EXPECT_DOUBLE_EQ(made->changes[1].step_ms, 13) << "of the same prediction as the speed-up";
  EXPECT_DOUBLE_EQ(made->changes[2].speed_up.value, 0.8) << "of both predictions";
}

TEST(MakeFit, OnADeviceWhatIsReservedHasToFit) {
  analysis::WhatIf answer = answer_for_64();
  for (ChangeAnswer& row : answer.changes) {
    if (row.predicted.has_value()) {
      row.predicted->reserved_bytes = *row.predicted->peak_bytes + 300;
    }
  }
  // The batch size alone reserves 100 less than its operations say.
  const auto alone = answer.changes.front().predicted->reserved_bytes;
  const auto made = make_fit(answer, {}, 64, 1000, static_cast<double>(*alone) - 100);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->changes.front().reserved_bytes, *alone - 100);
  const auto autocast =
      std::ranges::find(made->changes, std::vector<std::string>{"bf16-autocast"}, &analysis::FittingChange::change);
  ASSERT_NE(autocast, made->changes.end());
  EXPECT_EQ(autocast->peak_bytes, 700U);
  EXPECT_EQ(autocast->reserved_bytes, 900U);
  EXPECT_TRUE(autocast->fits);
  EXPECT_FALSE(made->changes.front().fits);
  EXPECT_THAT(report::text_make_fit(*made), HasSubstr("900 B reserved: fits"));
}

TEST(MakeFit, WithoutAPeakThereIsNoAnswer) {
  analysis::WhatIf answer = answer_for_64();
  answer.changes.front().predicted->peak_bytes.reset();
  EXPECT_FALSE(make_fit(answer, {}, 64, 850, 1100.0));
}

}  // namespace
}  // namespace ridgeline::app
