#include "analysis/compare/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace ridgeline::analysis {
namespace {

constexpr double kMargin = 0.05;
using Runs = std::vector<ObservedRun>;

TEST(TimeChange, OneRunEachHasAtLeastTheNoiseBetweenRuns) {
  const TimeChange change = time_change(Runs{{100, 0.0}}, Runs{{110, 0.0}}, false, 0.05, kMargin);
  EXPECT_NEAR(change.change, 0.10, 1e-12);
  ASSERT_TRUE(change.bounds.has_value());
  // 1.96 · √2 · 1 %.
  EXPECT_NEAR(std::log1p(change.bounds->low), std::log(1.1) - 0.02772, 1e-4);
  EXPECT_NEAR(std::log1p(change.bounds->high), std::log(1.1) + 0.02772, 1e-4);
  EXPECT_EQ(change.outcome, Outcome::kDiffers);
}

TEST(TimeChange, IsUndecidedWhereTheErrorOfASingleRunIsUnknown) {
  const TimeChange change = time_change(Runs{{100, {}}}, Runs{{200, 0.01}}, false, 0.05, kMargin);
  EXPECT_FALSE(change.bounds.has_value());
  EXPECT_EQ(change.outcome, Outcome::kUndecided);
}

TEST(TimeChange, NoisyRunsShowOnlyLargeChanges) {
  const auto outcome = [](double after) {
    return time_change(Runs{{100, kNoisyRunToRun}}, Runs{{after, kNoisyRunToRun}}, false, 0.05, kMargin).outcome;
  };
  EXPECT_EQ(outcome(200), Outcome::kDiffers);
  EXPECT_EQ(outcome(150), Outcome::kUndecided);
  // What several runs show between them counts instead.
  const Runs before = {{100, kNoisyRunToRun}, {101, kNoisyRunToRun}, {99, kNoisyRunToRun}};
  const Runs after = {{150, kNoisyRunToRun}, {151, kNoisyRunToRun}, {149, kNoisyRunToRun}};
  EXPECT_EQ(time_change(before, after, false, 0.05, kMargin).outcome, Outcome::kDiffers);
}

TEST(TimeChange, HasThreeOutcomes) {
  const auto outcome = [](double after, double error) {
    return time_change(Runs{{100, error}}, Runs{{after, error}}, false, 0.05, kMargin).outcome;
  };
  EXPECT_EQ(outcome(101, 0.01), Outcome::kNoDifference);
  EXPECT_EQ(outcome(105, 0.01), Outcome::kDiffers);
  EXPECT_EQ(outcome(105, 0.03), Outcome::kUndecided);  // never "no difference", whatever the noise
  EXPECT_EQ(outcome(100, 0.03), Outcome::kUndecided);
}

TEST(TimeChange, PairsCancelWhatBothHaveInCommon) {
  // The machine becomes three times slower from run to run, and everything takes 5 to 7 % more after the change.
  const Runs before = {{100, {}}, {300, {}}, {900, {}}, {2700, {}}};
  const Runs after = {{105, {}}, {321, {}}, {945, {}}, {2889, {}}};
  const TimeChange change = time_change(before, after, true, 0.05, kMargin);
  EXPECT_EQ(change.outcome, Outcome::kDiffers);
  EXPECT_GT(change.bounds->low, 0.03);
  EXPECT_LT(change.bounds->high, 0.09);
  EXPECT_EQ(time_change(before, after, false, 0.05, kMargin).outcome, Outcome::kUndecided);
}

/// How often, of 2,000 comparisons of the same code, one says that there is a difference.
double false_alarms(std::size_t runs, bool in_turns, double drift) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  int alarms = 0;
  constexpr int kComparisons = 2000;
  for (int i = 0; i < kComparisons; ++i) {
    Runs before;
    Runs after;
    for (std::size_t run = 0; run < runs; ++run) {
      const double machine = std::exp(drift * normal(random));
      before.push_back({100 * machine * std::exp(0.03 * normal(random)), 0.03});
      after.push_back({100 * machine * std::exp(0.03 * normal(random)), 0.03});
    }
    alarms += time_change(before, after, in_turns, 0.05, kMargin).outcome == Outcome::kDiffers ? 1 : 0;
  }
  return static_cast<double>(alarms) / kComparisons;
}

TEST(TimeChange, HasTheFalseAlarmsThatItsLevelStates) {
  // 5 %, with three standard errors of 2,000 trials: 1.5 %.
  EXPECT_LT(false_alarms(1, false, 0), 0.065);
  EXPECT_LT(false_alarms(5, false, 0), 0.065);
  EXPECT_LT(false_alarms(6, true, 0.5), 0.065);
  EXPECT_GT(false_alarms(6, true, 0.5), 0.035);  // and is not so wide that it would find nothing
}

TEST(MeanTime, HasNoBoundsThatSayNothing) {
  // Student's t of two degrees is large, and with it what three runs of such noise leave open.
  EXPECT_FALSE(mean_time(Runs{{1, 0.01}, {100, 0.01}, {10000, 0.01}}, 0.05).bounds.has_value());
  const MeanTime time = mean_time(Runs{{100, 0.01}, {110, 0.01}, {105, 0.01}}, 0.05);
  ASSERT_TRUE(time.bounds.has_value());
  EXPECT_LT(time.bounds->high / time.bounds->low, 1.5);
}

TEST(MemoryChange, IsExactWithOneRunEach) {
  using Bytes = std::array<std::uint64_t, 1>;
  EXPECT_EQ(memory_change(Bytes{1000}, Bytes{1000}, 1, kMargin).outcome, Outcome::kNoDifference);
  EXPECT_EQ(memory_change(Bytes{1000}, Bytes{1002}, 1, kMargin).outcome, Outcome::kDiffers);
  EXPECT_EQ(memory_change(Bytes{1000}, Bytes{1001}, 1, kMargin).outcome, Outcome::kNoDifference);
}

TEST(MemoryChange, DiffersWhenEveryTwoRunsDo) {
  using Bytes = std::vector<std::uint64_t>;
  const MemoryChange change = memory_change(Bytes{1000, 1100}, Bytes{1200, 1400}, 1, kMargin);
  EXPECT_EQ(change.outcome, Outcome::kDiffers);
  EXPECT_DOUBLE_EQ(change.bounds.low, 100);
  EXPECT_DOUBLE_EQ(change.bounds.high, 400);
  EXPECT_EQ(memory_change(Bytes{1000, 1300}, Bytes{1200, 1400}, 1, kMargin).outcome, Outcome::kUndecided);
  EXPECT_EQ(memory_change(Bytes{1000, 1010}, Bytes{1000, 1020}, 1, kMargin).outcome, Outcome::kNoDifference);
}

}  // namespace
}  // namespace ridgeline::analysis
