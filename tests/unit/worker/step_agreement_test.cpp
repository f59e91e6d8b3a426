// Which steps the ranks of a job record.
#include "worker/step_agreement.h"

#include <gtest/gtest.h>

namespace ridgeline::worker {
namespace {

constexpr double kMs = 1e6;

TEST(StepAgreement, WaitsForAllRanksAndDecidesOnceAheadOfTheFurthest) {
  StepAgreement agreement;
  agreement.expect(2);
  agreement.join(1);
  agreement.ready(1, {20, 10 * kMs, 6}, 0);
  EXPECT_FALSE(agreement.decide(1).has_value()) << "the other rank has not even joined";
  agreement.join(2);
  EXPECT_FALSE(agreement.decide(2).has_value());
  agreement.ready(2, {25, 20 * kMs, 9}, 3);
  const auto steps = agreement.decide(4);
  ASSERT_TRUE(steps.has_value());
  EXPECT_EQ(steps->first, 28);
  EXPECT_EQ(steps->steps, 9);
  EXPECT_TRUE(steps->asks_again);
  EXPECT_FALSE(agreement.decide(5).has_value());
}

TEST(StepAgreement, LeavesMoreStepsWhereTheyAreShort) {
  StepAgreement agreement;
  agreement.expect(1);
  agreement.ready(1, {10, 0.1 * kMs, 6}, 0);
  EXPECT_EQ(agreement.decide(0)->first, 10 + 300) << "30 ms";
}

TEST(StepAgreement, LeavesMoreEachTimeThatARankWasTooLate) {
  StepAgreement agreement;
  agreement.expect(2);
  agreement.ready(1, {10, 100 * kMs, 6}, 0);
  agreement.ready(2, {10, 100 * kMs, 6}, 0);
  std::int64_t step = agreement.decide(0)->first;
  for (int i = 1; i < StepAgreement::kMostDecisions; ++i) {
    agreement.ready(2, {step + 1, 100 * kMs, 6}, i);
    const auto again = agreement.decide(i);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->first, step + 1 + (3 << i));
    EXPECT_EQ(again->asks_again, i + 1 < StepAgreement::kMostDecisions);
    step = again->first;
  }
}

TEST(StepAgreement, DoesNotWaitForARankThatLeaves) {
  StepAgreement agreement;
  agreement.expect(2);
  agreement.join(1);
  agreement.join(2);
  agreement.ready(1, {10, kMs, 6}, 0);
  EXPECT_FALSE(agreement.decide(1).has_value());
  agreement.leave(2);
  EXPECT_TRUE(agreement.decide(2).has_value());
}

TEST(StepAgreement, HasPatienceWithARankThatNeverSteps) {
  StepAgreement agreement;
  agreement.expect(2);
  agreement.join(1);
  agreement.join(2);
  agreement.ready(1, {10, kMs, 6}, 100);
  EXPECT_EQ(agreement.due_ns(), 100 + StepAgreement::kPatienceNs);
  EXPECT_FALSE(agreement.decide(99 + StepAgreement::kPatienceNs).has_value());
  EXPECT_TRUE(agreement.decide(100 + StepAgreement::kPatienceNs).has_value());
  EXPECT_TRUE(agreement.is_ready(1));
  EXPECT_FALSE(agreement.is_ready(2));
  EXPECT_EQ(agreement.missing(), 1);
}

}  // namespace
}  // namespace ridgeline::worker
