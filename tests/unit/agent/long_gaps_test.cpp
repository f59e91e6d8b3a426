#include "profiler/agent/long_gaps.h"

#include <gtest/gtest.h>

namespace ridgeline::agent {

TEST(LongGaps, APlaceWithoutALongGapIsNotWorthSampling) {
  LongGaps gaps;
  EXPECT_FALSE(gaps.take(7));
}

TEST(LongGaps, AGapPaysForArmingsInProportionToItsLength) {
  LongGaps gaps;
  gaps.add(7, 3);
  EXPECT_TRUE(gaps.take(7));
  EXPECT_TRUE(gaps.take(7));
  EXPECT_TRUE(gaps.take(7));
  EXPECT_FALSE(gaps.take(7));
  EXPECT_FALSE(gaps.take(8));
}

TEST(LongGaps, APlaceThatStaysLongIsArmedEachTime) {
  LongGaps gaps;
  gaps.add(7, 2);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(gaps.take(7));
    gaps.add(7, 2);
  }
}

TEST(LongGaps, PassesOfOneOperationAreKnownApartInEachIteration) {
  LongGaps gaps;
  const auto is_expected = [&](int pass) {
    gaps.iteration_begins();
    for (int i = 0; i < pass; ++i) {
      EXPECT_FALSE(gaps.take(gaps.pass(7))) << i;
    }
    return gaps.take(gaps.pass(7));
  };
  EXPECT_FALSE(is_expected(90));
  gaps.iteration_begins();
  for (int i = 0; i < 90; ++i) {
    gaps.pass(7);
  }
  gaps.add(gaps.pass(7), 5);
  EXPECT_TRUE(is_expected(90));
  EXPECT_FALSE(is_expected(89));
}

TEST(LongGaps, OneVeryLongGapIsForgottenAfterAWhile) {
  LongGaps gaps;
  gaps.add(7, 1'000'000);
  int armings = 0;
  while (gaps.take(7)) {
    ++armings;
  }
  EXPECT_LE(armings, 64);
}

TEST(LongGaps, PlacesThatShareASlotDoNotArmEachOther) {
  LongGaps gaps;
  for (std::uint64_t place = 1; place <= 10'000; ++place) {
    gaps.add(place, 1);
  }
  int armed = 0;
  for (std::uint64_t place = 10'001; place <= 20'000; ++place) {
    armed += gaps.take(place) ? 1 : 0;
  }
  EXPECT_EQ(armed, 0);
}

}  // namespace ridgeline::agent
