#include "analysis/time/time_sample.h"

#include <gtest/gtest.h>

#include <vector>

namespace ridgeline::analysis {
namespace {

TEST(TimeSample, IsTheMedianInMilliseconds) {
  const std::vector<double> times = {3e6, 1e6, 2e6};
  const TimeSample sample = time_sample(32, times, 1);
  EXPECT_EQ(sample.batch_size, 32);
  EXPECT_EQ(sample.ms.value, 2);
  EXPECT_EQ(sample.ms.low, 1);
  EXPECT_EQ(sample.ms.high, 3);
  EXPECT_EQ(sample.iterations, 3);
  EXPECT_EQ(sample.rounds, 3);
}

/// Ten iterations of a round share its mood: sixty of them are six independent figures, not sixty.
TEST(TimeSample, KnowsNoMoreThanItsRounds) {
  std::vector<double> times;
  for (int round = 0; round < 6; ++round) {
    times.insert(times.end(), 10, (10 + round) * 1e6);
  }
  const TimeSample sample = time_sample(1, times, 10);
  EXPECT_EQ(sample.rounds, 6);
  EXPECT_EQ(sample.iterations, 60);
  EXPECT_EQ(sample.ms.low, 10);
  EXPECT_EQ(sample.ms.high, 15);
}

TEST(TimeSample, TellsHowMuchTwoHalvesDiffer) {
  // Rounds of 10, 12, 10, 12 ms: every other one against the rest.
  std::vector<double> times;
  for (int round = 0; round < 4; ++round) {
    times.insert(times.end(), 3, (round % 2 == 0 ? 10 : 12) * 1e6);
  }
  const TimeSample sample = time_sample(1, times, 3);
  EXPECT_DOUBLE_EQ(sample.ms.value, 11);
  EXPECT_DOUBLE_EQ(sample.aa_noise, 2.0 / 11);
  EXPECT_EQ(time_sample(1, std::vector<double>{5e6}, 1).aa_noise, 0);
}

TEST(TimeSample, CountsWhatFellOutOfLine) {
  std::vector<double> times(40, 10e6);
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i] += static_cast<double>(i % 5) * 1e4;
  }
  EXPECT_EQ(time_sample(1, times, 1).outliers.count, 0);
  times[7] = 31e6;
  times[20] = 12.5e6;
  times[21] = 11e6;  // far by deviations, but not a fifth above the median
  const Outliers outliers = time_sample(1, times, 1).outliers;
  EXPECT_EQ(outliers.count, 2);
  EXPECT_NEAR(outliers.worst, 3.1, 0.01);
}

TEST(TimeSample, TakesARoundThatWasCutShort) {
  const std::vector<double> times = {1e6, 1e6, 1e6, 4e6};
  EXPECT_EQ(time_sample(1, times, 3).rounds, 2);
}

}  // namespace
}  // namespace ridgeline::analysis
