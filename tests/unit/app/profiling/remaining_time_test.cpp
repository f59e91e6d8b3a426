#include "app/profiling/remaining_time.h"

#include <gtest/gtest.h>

namespace ridgeline::app {
namespace {

using std::chrono::seconds;

const RemainingTime::Clock::time_point kBegin{};

protocol::Progress timing(RemainingTime& remaining, int at) {
  return remaining.of({"time", 0.5, "Timing"}, kBegin + seconds(at));
}

TEST(RemainingTime, IsNotInventedWithoutARunBefore) {
  RemainingTime remaining;
  EXPECT_EQ(timing(remaining, 0).message, "Timing");
  EXPECT_EQ(timing(remaining, 9).fraction, 0.5);
}

TEST(RemainingTime, CountsFromWhenTheInterpreterIsReady) {
  RemainingTime remaining(40);
  EXPECT_EQ(remaining.of({"start", 0, "Importing torch"}, kBegin).message, "Importing torch");
  EXPECT_EQ(remaining.of({"build", 0.3, "Building the agent"}, kBegin + seconds(50)).fraction, 0.3);
  EXPECT_FALSE(remaining.elapsed(kBegin + seconds(60)).has_value());
  const protocol::Progress first = timing(remaining, 100);
  EXPECT_EQ(first.message, "Timing, about 40 s left");
  EXPECT_EQ(first.fraction, 0);
  EXPECT_EQ(timing(remaining, 120).fraction, 0.95 * 0.5);
  EXPECT_EQ(timing(remaining, 113).message, "Timing, about 25 s left");
  EXPECT_EQ(timing(remaining, 137).message, "Timing, about 3 s left");
  EXPECT_EQ(remaining.elapsed(kBegin + seconds(137))->count(), 37);
}

TEST(RemainingTime, EndsWithWhatWasExpected) {
  RemainingTime remaining(10);
  EXPECT_EQ(timing(remaining, 0).fraction, 0);
  EXPECT_EQ(timing(remaining, 2).fraction, 0.95 * 0.2);
  EXPECT_EQ(timing(remaining, 10).message, "Timing");
  EXPECT_EQ(timing(remaining, 11).fraction, 0.5);
}

TEST(RemainingTime, NeverGoesBack) {
  RemainingTime remaining(10);
  timing(remaining, 0);
  EXPECT_EQ(timing(remaining, 8).fraction, 0.95 * 0.8);
  EXPECT_EQ(timing(remaining, 11).fraction, 0.95 * 0.8);
  EXPECT_EQ(remaining.of({"analyse", 0.95, "Analysing"}, kBegin + seconds(12)).fraction, 0.95);
}

TEST(RemainingTime, LongRunsAreInMinutes) {
  RemainingTime remaining(300);
  EXPECT_EQ(timing(remaining, 0).message, "Timing, about 5 min left");
}

}  // namespace
}  // namespace ridgeline::app
