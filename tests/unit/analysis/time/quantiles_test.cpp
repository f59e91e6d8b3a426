#include "analysis/time/quantiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ridgeline::analysis {
namespace {

TEST(StudentT, FollowsTheTables) {
  EXPECT_NEAR(student_t95(1), 12.706, 1e-3);
  EXPECT_NEAR(student_t95(5), 2.571, 1e-3);
  EXPECT_NEAR(student_t95(30), 2.042, 1e-3);
  EXPECT_NEAR(student_t95(31), 2.040, 1e-3);
  EXPECT_NEAR(student_t95(40), 2.021, 1e-3);
  EXPECT_NEAR(student_t95(120), 1.980, 1e-3);
}

TEST(StudentT, FallsToTheNormalQuantile) {
  for (int degrees = 1; degrees < 200; ++degrees) {
    EXPECT_GE(student_t95(degrees), student_t95(degrees + 1)) << degrees;
  }
  EXPECT_NEAR(student_t95(1'000'000), 1.960, 1e-3);
  EXPECT_EQ(student_t95(0), student_t95(1));
}

TEST(Normal, FollowsTheTables) { EXPECT_NEAR(normal95(), 1.959964, 1e-6); }

/// Whether P(X <= k) <= 2.5 % for X binomial with p = 1/2, by the sum itself.
bool is_in_the_tail(std::size_t count, std::size_t k) {
  double sum = 0;
  double term = std::pow(0.5, static_cast<double>(count));
  for (std::size_t i = 0; i <= k; ++i) {
    sum += term;
    term *= static_cast<double>(count - i) / static_cast<double>(i + 1);
  }
  return sum <= 0.025;
}

TEST(MedianRank, IsTheLastInTheTail) {
  for (std::size_t count = 6; count <= 600; ++count) {
    const std::size_t rank = median_rank95(count);
    EXPECT_TRUE(is_in_the_tail(count, rank)) << count;
    EXPECT_FALSE(is_in_the_tail(count, rank + 1)) << count;
  }
}

TEST(Quantiles, NeverThrow) {
  for (const int degrees : {std::numeric_limits<int>::min(), -1, 0, std::numeric_limits<int>::max()}) {
    EXPECT_TRUE(std::isfinite(student_t95(degrees))) << degrees;
  }
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    EXPECT_EQ(median_rank95(count), 0U);
  }
  const std::size_t many = std::size_t{1} << 40U;
  EXPECT_LT(median_rank95(many), many / 2);
}

}  // namespace
}  // namespace ridgeline::analysis
