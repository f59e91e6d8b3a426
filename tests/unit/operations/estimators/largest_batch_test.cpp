#include "operations/estimators/largest_batch.h"

#include <gtest/gtest.h>

#include <vector>

namespace ridgeline::operations {
namespace {

TEST(LargestBatch, LiesWhereTheLinesReachTheCapacity) {
  const std::vector<HeldAt> steps = {{8, {180, 280}}, {16, {260, 360}}, {32, {580, 840}}};
  const auto between = largest_batch(steps, 420);
  ASSERT_TRUE(between);
  EXPECT_EQ(between->low, 18);   // 16 + 60 / 30
  EXPECT_EQ(between->high, 24);  // 16 + 160 / 20
  const auto before = largest_batch(steps, 250);
  EXPECT_EQ(before->low, 5);    // 8 - 30 / 10
  EXPECT_EQ(before->high, 15);  // 8 + 70 / 10
  EXPECT_EQ(largest_batch(steps, 90)->high, 0);
}

TEST(LargestBatch, GrowsWithTheCapacity) {
  const std::vector<HeldAt> steps = {{4, {100, 200}}, {8, {400, 450}}, {16, {390, 460}}, {32, {900, 1000}}};
  int low = 0;
  int high = 0;
  for (double capacity = 50; capacity < 900; capacity += 10) {
    const auto found = largest_batch(steps, capacity);
    ASSERT_TRUE(found) << capacity;
    EXPECT_LE(found->low, found->high) << capacity;
    EXPECT_GE(found->low, low) << capacity;
    EXPECT_GE(found->high, high) << capacity;
    low = found->low;
    high = found->high;
  }
}

TEST(LargestBatch, IsNotKnownWithoutGrowthOrBeyondTheLastStep) {
  const auto is_known = [](const std::vector<HeldAt>& steps) { return largest_batch(steps, 150).has_value(); };
  EXPECT_TRUE(is_known({{8, {100, 120}}, {16, {160, 180}}}));
  EXPECT_FALSE(is_known({{8, {100, 120}}, {16, {140, 180}}}));
  EXPECT_FALSE(is_known({{8, {100, 200}}}));
  EXPECT_FALSE(is_known({{8, {160, 200}}, {16, {160, 200}}}));
}

}  // namespace
}  // namespace ridgeline::operations
