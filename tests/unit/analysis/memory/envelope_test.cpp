#include "analysis/memory/envelope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace ridgeline::analysis {
namespace {

double at(const std::vector<EnvelopePiece>& pieces, int x) {
  const auto after = std::ranges::upper_bound(pieces, x, {}, &EnvelopePiece::from);
  return (after - 1)->curve.at(x);
}

TEST(UpperEnvelope, IsEmptyWithoutLines) { EXPECT_TRUE(upper_envelope({}, 1, 9).empty()); }

TEST(UpperEnvelope, OneLineIsItsOwnEnvelope) {
  const auto pieces = upper_envelope({{2, 3}}, 4, 9);
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(pieces[0].from, 4);
  EXPECT_EQ(pieces[0].curve.at(10), 23);
}

TEST(UpperEnvelope, ChangesWhereTheSteeperLineOvertakes) {
  const auto pieces = upper_envelope({{0, 100}, {10, 0}, {1, 0}}, 1, std::numeric_limits<int>::max());
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[0].curve.intercept, 100);
  EXPECT_EQ(pieces[1].from, 11);  // at 10 both are 100
  EXPECT_EQ(pieces[1].curve.slope, 10);
}

TEST(UpperEnvelope, LeavesOutWhatOvertakesTooLate) { EXPECT_EQ(upper_envelope({{0, 100}, {10, 0}}, 1, 10).size(), 1U); }

TEST(UpperEnvelope, TheHighestOfParallelLines) {
  const auto pieces = upper_envelope({{1, 5}, {1, 7}, {1, 6}, {1, 7}}, 1, 9);
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(pieces[0].curve.intercept, 7);
}

TEST(UpperEnvelope, IsTheMaximumOfRandomCurves) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<Curve> lines(1 + random() % 20);
    for (Curve& line : lines) {
      line = {static_cast<double>(random() % 9) - 2, static_cast<double>(random() % 60)};
      if (round % 3 > 0) {
        line.square = static_cast<double>(random() % 5) - 2;
      }
      if (round % 3 > 1) {
        line.cube = static_cast<double>(random() % 5) / 8 - 0.25;
      }
    }
    const auto pieces = upper_envelope(lines, 1, 40);
    ASSERT_FALSE(pieces.empty());
    EXPECT_EQ(pieces[0].from, 1);
    for (int x = 1; x <= 40; ++x) {
      double most = lines[0].at(x);
      for (const Curve& line : lines) {
        most = std::max(most, line.at(x));
      }
      EXPECT_EQ(at(pieces, x), most);
    }
  }
}

}  // namespace
}  // namespace ridgeline::analysis
