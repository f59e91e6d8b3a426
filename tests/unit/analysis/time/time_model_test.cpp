#include "analysis/time/time_model.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "tests/unit/rounds.h"

namespace ridgeline::analysis {
namespace {

TimeSample sample_of(int batch_size, double ms, double half_width = 0.005) {
  TimeSample sample;
  sample.batch_size = batch_size;
  sample.ms = {ms, ms * (1 - half_width), ms * (1 + half_width)};
  return sample;
}

std::vector<TimeSample> samples_of(const std::vector<std::pair<int, double>>& points, double half_width = 0.005) {
  std::vector<TimeSample> samples;
  for (const auto& [batch_size, ms] : points) {
    samples.push_back(sample_of(batch_size, ms, half_width));
  }
  return samples;
}

TEST(TimeModel, IsALineWhereTheSamplesAre) {
  const auto model = fit_time_model(samples_of({{2, 14}, {4, 18}, {8, 26}, {16, 42}, {32, 74}}));
  ASSERT_TRUE(model.has_value());
  ASSERT_EQ(model->pieces.size(), 1U);
  EXPECT_NEAR(model->pieces[0].slope, 2, 1e-9);
  EXPECT_NEAR(model->pieces[0].intercept, 10, 1e-9);
  EXPECT_NEAR(model->r2, 1, 1e-12);
  EXPECT_EQ(model->degrees, 6);
  for (const int batch_size : {1, 3, 64, 1000}) {
    const Estimate time = time_at(*model, batch_size);
    EXPECT_NEAR(time.value, 10 + 2.0 * batch_size, 1e-6);
    EXPECT_LT(time.interval->low, time.value);
    EXPECT_GT(*time.interval->high, time.value);
  }
}

/// The interval grows with the distance from what was sampled, and is a few percent in the middle of it. At a sampled
/// size it is that of the measurement.
TEST(TimeModel, KnowsLessFartherAway) {
  const auto model = fit_time_model(samples_of({{4, 18}, {8, 26}, {16, 42}}));
  ASSERT_TRUE(model.has_value());
  const auto width = [&](int batch_size) {
    const Estimate time = time_at(*model, batch_size);
    return (*time.interval->high - time.interval->low) / 2 / time.value;
  };
  EXPECT_LT(width(8), 0.02);
  EXPECT_GT(width(12), 0.03);
  EXPECT_LT(width(12), 0.15);
  EXPECT_GT(width(12), width(9));
  EXPECT_GT(width(64), width(32));
  EXPECT_GT(width(32), width(12));
  EXPECT_GT(width(1), width(2));
  EXPECT_EQ(time_at(*model, 8).value, 26);
}

/// Errors are parts of the value: a large batch that is 1 % off must not move what is said of a small one.
TEST(TimeModel, WeighsErrorsAsPartsOfTheTime) {
  const auto model = fit_time_model(samples_of({{1, 11}, {10, 20}, {1000, 1010 * 1.01}}));
  ASSERT_TRUE(model.has_value());
  ASSERT_EQ(model->pieces.size(), 1U);
  EXPECT_NEAR(time_at(*model, 1).value, 11, 0.11);
  EXPECT_NEAR(time_at(*model, 10).value, 20, 0.2);
}

TEST(TimeModel, BendsWhereTheSamplesDo) {
  // Flat up to 16, where the device is full; 1 ms per sample beyond.
  const auto model = fit_time_model(samples_of({{4, 20}, {8, 20}, {16, 20}, {32, 36}, {64, 68}}));
  ASSERT_TRUE(model.has_value());
  ASSERT_EQ(model->pieces.size(), 2U);
  EXPECT_EQ(model->pieces[1].from_batch, 16);
  EXPECT_NEAR(time_at(*model, 12).value, 20, 1e-6);
  EXPECT_NEAR(time_at(*model, 16).value, 20, 1e-6);
  EXPECT_NEAR(time_at(*model, 24).value, 28, 1e-6);
  EXPECT_NEAR(time_at(*model, 128).value, 132, 1e-6);
}

TEST(TimeModel, TakesNoNoiseForABend) {
  const std::vector<std::pair<int, double>> noisy = {{4, 18.3}, {8, 25.2}, {16, 42.9}, {24, 56.9}, {32, 74.6}};
  EXPECT_EQ(fit_time_model(samples_of(noisy, 0.03))->pieces.size(), 1U);
}

TEST(TimeModel, PassesThroughThreeSamplesOffTheLine) {
  const auto samples = samples_of({{4, 20}, {8, 20}, {16, 40}});
  const auto model = fit_time_model(samples);
  ASSERT_TRUE(model.has_value());
  ASSERT_EQ(model->pieces.size(), 2U);
  for (const TimeSample& sample : samples) {
    const Estimate time = time_at(*model, sample.batch_size);
    EXPECT_NEAR(time.value, sample.ms.value, 1e-9);
    EXPECT_TRUE(time.interval.has_value());
  }
}

TEST(TimeModel, NeedsTwoSizesAndSaysLittleWithTwo) {
  EXPECT_FALSE(fit_time_model({}).has_value());
  EXPECT_FALSE(fit_time_model(samples_of({{4, 18}})).has_value());
  EXPECT_FALSE(fit_time_model(samples_of({{4, 18}, {4, 19}})).has_value());
  const auto model = fit_time_model(samples_of({{4, 18}, {8, 26}}));
  ASSERT_TRUE(model.has_value());
  EXPECT_NEAR(time_at(*model, 16).value, 42, 1e-9);
  EXPECT_FALSE(time_at(*model, 16).interval.has_value());
}

TEST(TimeModel, PartsOfTheSamplesArePartsOfTheModel) {
  const auto samples = samples_of({{4, 21}, {8, 20}, {16, 20.5}, {32, 36}, {64, 68}});
  const auto model = fit_time_model(samples);
  ASSERT_TRUE(model.has_value());
  EXPECT_GT(model->pieces.size(), 1U);
  const std::vector<double> some = {1, 2, 3, 16, 48};
  std::vector<double> rest;
  for (std::size_t i = 0; i < some.size(); ++i) {
    rest.push_back(samples[i].ms.value - some[i]);
  }
  const std::vector<std::vector<Piece>> parts = fit_parts(*model, std::array{some, rest});
  const std::vector<Piece>& a = parts[0];
  const std::vector<Piece>& b = parts[1];
  for (const int batch_size : {1, 4, 10, 40, 100, 10000}) {
    const double whole = time_at(*model, batch_size).value;
    EXPECT_NEAR(value_at(a, batch_size) + value_at(b, batch_size), whole, 1e-9 * whole);
  }
}

/// Steps that are linear but for an error of 2 % at each batch size: at least nine in ten new measurements lie in the
/// interval, as many as issue and promise want; and not all, or the interval would say nothing.
TEST(TimeModel, IntervalsHold) {
  std::mt19937 random(7);
  std::normal_distribution<double> error(0, 0.02);
  int inside = 0;
  int asked = 0;
  for (int step = 0; step < 400; ++step) {
    const double slope = 1 + step % 7;
    const double intercept = 5.0 * (step % 11);
    const auto real = [&](int size) { return (intercept + slope * size) * (1 + error(random)); };
    std::vector<TimeSample> samples;
    for (const int size : {8, 16, 32, 48, 64}) {
      samples.push_back(sample_of(size, real(size)));
    }
    const auto model = fit_time_model(samples);
    ASSERT_TRUE(model.has_value());
    for (const int size : {4, 12, 24, 40, 96, 128}) {
      const Estimate time = time_at(*model, size);
      const double truth = real(size);
      inside += time.interval->low <= truth && truth <= *time.interval->high ? 1 : 0;
      ++asked;
    }
  }
  EXPECT_GE(inside, asked * 90 / 100);
  EXPECT_LT(inside, asked);
}

/// As a kept profile had it: a step of 14 + 14 ms a sample whose smallest batch was disturbed.
TEST(TimeModel, IsNotBentByOneDisturbedSample) {
  std::vector<TimeSample> samples = samples_of({{2, 42}, {4, 70}, {8, 126}, {16, 238}});
  samples.insert(samples.begin(), sample_of(1, 190, 0.24));
  samples.front().aa_noise = 0.4;
  const auto model = fit_time_model(samples);
  ASSERT_TRUE(model.has_value());
  for (const Piece& piece : model->pieces) {
    EXPECT_GE(piece.slope, 0);
  }
  for (const int batch_size : {3, 6, 12, 32}) {
    const Estimate time = time_at(*model, batch_size);
    EXPECT_NEAR(time.value, 14 + 14.0 * batch_size, 0.05 * time.value) << batch_size;
    EXPECT_LT(*time.interval->high - time.interval->low, 0.6 * time.value) << batch_size;
  }
  EXPECT_EQ(time_at(*model, 1).value, 190) << "what was measured stays so";
  // The lines still sum to the step.
  std::vector<double> half;
  for (const TimeSample& sample : samples) {
    half.push_back(sample.ms.value / 2);
  }
  const auto parts = fit_parts(*model, std::array{half, half});
  EXPECT_NEAR(2 * value_at(parts[0], 5), value_at(model->pieces, 5), 1e-9);
}

/// Steps whose time rises with the batch, measured with noise, some of them disturbed: no model says that a larger
/// batch takes less time, and intervals hold.
TEST(TimeModel, NeverFallsBecauseOfNoise) {
  std::mt19937 random(13);
  std::normal_distribution<double> standard(0, 1);
  int inside = 0;
  int asked = 0;
  for (int step = 0; step < ridgeline::testing::rounds(400, 100); ++step) {
    const double sd = std::array{0.005, 0.02, 0.05}[static_cast<std::size_t>(step) % 3];
    const double slope = 0.2 + step % 5;
    const double intercept = 8.0 * (step % 7);
    const auto real = [&](int size) { return (intercept + slope * size) * std::exp(sd * standard(random)); };
    std::vector<TimeSample> samples;
    for (const int size : {4, 8, 12, 16, 32, 64}) {
      samples.push_back(sample_of(size, real(size), 1.96 * sd));
    }
    if (step % 4 == 0) {  // twice as long, or five times
      const std::size_t which = random() % samples.size();
      const double times = random() % 2 == 0 ? 2 : 5;
      samples[which] = sample_of(samples[which].batch_size, times * samples[which].ms.value, 0.3);
      samples[which].aa_noise = 0.3;
    }
    const auto model = fit_time_model(samples);
    ASSERT_TRUE(model.has_value());
    for (const Piece& piece : model->pieces) {
      EXPECT_GE(piece.slope, -1e-9) << "step " << step;
    }
    for (const int size : {6, 14, 24, 48, 96}) {
      const Estimate time = time_at(*model, size);
      const double truth = real(size);
      inside += time.interval->low <= truth && truth <= time.interval->high.value_or(truth) ? 1 : 0;
      ++asked;
    }
  }
  EXPECT_GE(inside, asked * 95 / 100);
}

/// A device that works better with some batch sizes: what is measured well beyond the intervals is no noise.
TEST(TimeModel, FallsWhereMeasurementsShowThatItDoes) {
  const auto model = fit_time_model(samples_of({{6, 30}, {7, 35}, {8, 24}, {16, 48}}));
  ASSERT_TRUE(model.has_value());
  EXPECT_NEAR(time_at(*model, 8).value, 24, 0.01);
  EXPECT_LT(value_at(model->pieces, 8), 26);
}

TEST(TimeModel, SurvivesManyAndExtremeSamples) {
  std::vector<TimeSample> many;
  for (int i = 1; i <= ridgeline::testing::rounds(256, 96); ++i) {
    many.push_back(sample_of(i * 65536, std::abs(std::sin(i)) * 1e6 + 1e-6));
  }
  const auto model = fit_time_model(many);
  ASSERT_TRUE(model.has_value());
  EXPECT_LE(model->pieces.size(), 9U);
  EXPECT_TRUE(std::isfinite(time_at(*model, 5e6).value));
  fit_time_model(samples_of({{1, 1e-300}, {2, 1e300}, {1 << 24, 1}}));
}

}  // namespace
}  // namespace ridgeline::analysis
