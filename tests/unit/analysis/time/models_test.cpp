#include "analysis/time/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace ridgeline::analysis {
namespace {

std::vector<double> numbers_to(int count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(FitLine, RecoversAnExactLine) {
  const std::array<Point, 3> points{{{1, 5}, {2, 7}, {10, 23}}};
  const std::optional<Line> line = fit_line(points);
  ASSERT_TRUE(line.has_value());
  EXPECT_NEAR(line->slope, 2, 1e-12);
  EXPECT_NEAR(line->intercept, 3, 1e-12);
  EXPECT_NEAR(line->r2, 1, 1e-12);
  EXPECT_NEAR(line->residual_sd, 0, 1e-9);
  EXPECT_EQ(line->count, 3);
}

// Anscombe, "Graphs in Statistical Analysis" (1973), set I: y = 3.00 + 0.500 x, r² = 0.667, s = 1.237.
TEST(FitLine, AgreesWithAnscombe) {
  const std::array<Point, 11> points{{{10, 8.04},
                                      {8, 6.95},
                                      {13, 7.58},
                                      {9, 8.81},
                                      {11, 8.33},
                                      {14, 9.96},
                                      {6, 7.24},
                                      {4, 4.26},
                                      {12, 10.84},
                                      {7, 4.82},
                                      {5, 5.68}}};
  const std::optional<Line> line = fit_line(points);
  ASSERT_TRUE(line.has_value());
  EXPECT_NEAR(line->slope, 0.50009, 1e-5);
  EXPECT_NEAR(line->intercept, 3.00009, 1e-5);
  EXPECT_NEAR(line->r2, 0.66654, 1e-5);
  EXPECT_NEAR(line->residual_sd, 1.23660, 1e-5);
  EXPECT_NEAR(line->mean_x, 9, 1e-12);
  EXPECT_NEAR(line->sum_squares_x, 110, 1e-9);
  // At the mean of x the interval of a new observation is s·√(1 + 1/n)·t(9).
  const Prediction at_mean = predict(*line, 9);
  EXPECT_TRUE(at_mean.known);
  EXPECT_NEAR(at_mean.y.value, 7.50091, 1e-5);
  EXPECT_NEAR(at_mean.y.high - at_mean.y.value, 2.262157 * 1.23660 * std::sqrt(1 + 1.0 / 11), 1e-4);
  EXPECT_NEAR(at_mean.y.high - at_mean.y.value, at_mean.y.value - at_mean.y.low, 1e-12);
  // Outside of the data it widens with the distance.
  const Prediction outside = predict(*line, 30);
  EXPECT_NEAR(outside.y.high - outside.y.value, 2.262157 * 1.23660 * std::sqrt(1 + 1.0 / 11 + 21.0 * 21 / 110), 1e-4);
}

TEST(FitLine, TwoPointsGiveNoInterval) {
  const std::array<Point, 2> points{{{16, 40}, {32, 72}}};
  const std::optional<Line> line = fit_line(points);
  ASSERT_TRUE(line.has_value());
  EXPECT_NEAR(line->slope, 2, 1e-12);
  EXPECT_NEAR(line->intercept, 8, 1e-12);
  EXPECT_EQ(line->residual_sd, 0);
  const Prediction prediction = predict(*line, 64);
  EXPECT_FALSE(prediction.known);
  EXPECT_NEAR(prediction.y.value, 136, 1e-9);
  EXPECT_EQ(prediction.y.low, prediction.y.value);
  EXPECT_EQ(prediction.y.high, prediction.y.value);
}

TEST(FitLine, NeedsTwoDistinctPlaces) {
  EXPECT_FALSE(fit_line({}).has_value());
  EXPECT_FALSE(fit_line(std::array<Point, 1>{{{1, 1}}}).has_value());
  EXPECT_FALSE(fit_line(std::array<Point, 3>{{{4, 1}, {4, 2}, {4, 3}}}).has_value());
}

TEST(FitLine, AConstantFitsExactly) {
  const std::optional<Line> line = fit_line(std::array<Point, 3>{{{1, 7}, {2, 7}, {3, 7}}});
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->slope, 0);
  EXPECT_EQ(line->intercept, 7);
  EXPECT_EQ(line->r2, 1);
}

TEST(FitLine, KeepsItsPrecisionFarFromZero) {
  const std::optional<Line> line = fit_line(std::array<Point, 3>{{{1, 1e12 + 8}, {2, 1e12 + 16}, {3, 1e12 + 24}}});
  ASSERT_TRUE(line.has_value());
  EXPECT_NEAR(line->slope, 8, 1e-3);
  EXPECT_NEAR(line->r2, 1, 1e-6);
}

/// Order statistics of the 95 % interval, 1-based: the largest r with P(Bin(n, 1/2) < r) <= 2.5 %, in exact sums.
struct Ranks {
  int count;
  double low;
  double high;
};

class MedianRanks : public ::testing::TestWithParam<Ranks> {};

TEST_P(MedianRanks, AreTheBinomialOnes) {
  std::vector<double> values = numbers_to(GetParam().count);
  std::ranges::reverse(values);
  const Measured median = median_interval(values);
  EXPECT_EQ(median.low, GetParam().low);
  EXPECT_EQ(median.high, GetParam().high);
  EXPECT_EQ(median.value, (GetParam().count + 1) / 2.0);
}

INSTANTIATE_TEST_SUITE_P(Counts, MedianRanks,
                         ::testing::Values(Ranks{1, 1, 1}, Ranks{2, 1, 2}, Ranks{3, 1, 3}, Ranks{4, 1, 4},
                                           Ranks{5, 1, 5}, Ranks{6, 1, 6}, Ranks{7, 1, 7}, Ranks{8, 1, 8},
                                           Ranks{9, 2, 8}, Ranks{10, 2, 9}, Ranks{11, 2, 10}, Ranks{12, 3, 10},
                                           Ranks{25, 8, 18}, Ranks{100, 40, 61}, Ranks{1000, 469, 532}),
                         [](const auto& instance) { return "n" + std::to_string(instance.param.count); });

TEST(MedianInterval, NothingIsZero) {
  const Measured median = median_interval({});
  EXPECT_EQ(median.value, 0);
  EXPECT_EQ(median.low, 0);
  EXPECT_EQ(median.high, 0);
}

TEST(MedianInterval, IgnoresOutliersAndOrder) {
  const std::vector<double> values = {5, 1e9, 3, 4, 2, 6, 1, 7, 8};
  const Measured median = median_interval(values);
  EXPECT_EQ(median.value, 5);
  EXPECT_EQ(median.low, 2);
  EXPECT_EQ(median.high, 8);
}

TEST(MedianInterval, HoldsForVeryManyValues) {
  const Measured median = median_interval(numbers_to(200'000));
  EXPECT_EQ(median.value, 100'000.5);
  EXPECT_NEAR(median.value - median.low, 1.96 * std::sqrt(200'000.0) / 2, 2);
  EXPECT_NEAR(median.high - median.value, 1.96 * std::sqrt(200'000.0) / 2, 2);
}

}  // namespace
}  // namespace ridgeline::analysis
