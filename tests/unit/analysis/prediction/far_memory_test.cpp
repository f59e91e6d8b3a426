// Peaks at batch sizes far from the recorded ones.

#include <gtest/gtest.h>

#include <utility>

#include "analysis/prediction/answers.h"
#include "analysis/prediction/predictor.h"
#include "tests/unit/analysis/fitted_predictor.h"

namespace ridgeline::analysis {
namespace {

constexpr auto kWeightsAt = static_cast<std::size_t>(Category::kWeights);
constexpr auto kGradientsAt = static_cast<std::size_t>(Category::kGradients);
constexpr auto kActivationsAt = static_cast<std::size_t>(Category::kActivations);

Profile sampled(std::initializer_list<std::pair<int, std::uint64_t>> peaks) {
  Profile profile;
  for (const auto& [batch_size, peak] : peaks) {
    profile.time_samples.push_back({batch_size, {1.0 * batch_size, 1.0 * batch_size, 1.0 * batch_size}, 20});
    profile.memory_samples.push_back({batch_size, peak});
    profile.batch_size = batch_size;
  }
  return profile;
}

/// 1000 bytes and 100 per sample, exact at 4, 8 and 16.
Predictor by_ledger() {
  Profile profile = sampled({{4, 1400}, {8, 1800}, {16, 2600}});
  profile.peak_model.emplace();
  profile.peak_model->value = {{1, 100, 1000}};
  profile.peak_model->checked = true;
  return fitted_predictor(profile);
}

TEST(FarMemory, IsExactWithinReachOfTheRecordedSizes) {
  for (const int batch_size : {2, 5, 17, 32}) {
    const Estimate peak = *predict_batch(by_ledger(), batch_size).peak_bytes;
    EXPECT_EQ(peak.certainty, Certainty::kKnown) << batch_size;
    EXPECT_EQ(peak.interval->low, peak.interval->high) << batch_size;
  }
}

TEST(FarMemory, HasAnIntervalThatWidensWithTheDistance) {
  double narrower = 0;
  for (const int batch_size : {33, 64, 128, 1024}) {
    const Estimate peak = *predict_batch(by_ledger(), batch_size).peak_bytes;
    EXPECT_EQ(peak.certainty, Certainty::kAbout) << batch_size;
    const double width = (*peak.interval->high - peak.interval->low) / peak.value;
    EXPECT_GT(width, narrower) << batch_size;
    EXPECT_LT(peak.interval->low, peak.value) << batch_size;
    narrower = width;
  }
  EXPECT_GT(*predict_batch(by_ledger(), 1).peak_bytes->interval->high, 1100);
}

/// Recorded at 4: gradients are the peak, but activations, which grow with the batch, are more from 20 samples on.
Predictor by_line() {
  Profile profile = sampled({{1, 2010}, {2, 2020}, {4, 2040}});
  MemoryOverTime recorded;
  recorded.ms = {0, 1};
  for (auto& bytes : recorded.bytes) {
    bytes = {0, 0};
  }
  recorded.bytes[kWeightsAt] = {1000, 1000};
  recorded.bytes[kGradientsAt] = {0, 1000};
  recorded.bytes[kActivationsAt] = {240, 40};
  recorded.peak = 1;
  profile.memory_over_time = recorded;
  return fitted_predictor(profile);
}

TEST(FarMemory, WithoutALedgerSeesThePeakMoveToTheActivations) {
  const Predictor predictor = by_line();
  EXPECT_NEAR(predict_batch(predictor, 16).peak_bytes->value, 2160, 1);
  const Estimate peak = *predict_batch(predictor, 100).peak_bytes;
  EXPECT_NEAR(peak.value, 1000 + 60 * 100, 1);
  EXPECT_GT(*peak.interval->high, peak.value);
  EXPECT_NEAR(peak.interval->low, 2000 + 10 * 100, 1) << "they may be of a fixed size";
}

TEST(FarMemory, WithoutALedgerWhatFitsDoesToo) {
  const Answer found = answer(by_line(), {Quantity::kMemory, 4000});
  EXPECT_EQ(found.batch->batch_size, 50);
}

}  // namespace
}  // namespace ridgeline::analysis
