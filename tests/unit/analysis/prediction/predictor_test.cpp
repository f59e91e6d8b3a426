#include "analysis/prediction/predictor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "predictor_examples.h"

namespace ridgeline::analysis {
namespace {

using testing::ask;
using testing::exact;
using testing::predictor_of;
using testing::Sample;
using testing::with_ledger;
using testing::with_parts;

Profile exact_profile() {
  Profile profile;
  for (const int size : {4, 8, 16}) {
    const double ms = 2.0 * size + 10;
    profile.time_samples.push_back({size, {ms, ms * 0.995, ms * 1.005}, 20});
    profile.memory_samples.push_back({size, 100 * static_cast<std::uint64_t>(size) + 1000});
  }
  fit_models(profile);
  return profile;
}

Check check_of(int batch_size, double ms) {
  Check check;
  check.time = {batch_size, {ms, ms * 0.99, ms * 1.01}, 6};
  check.peak_bytes = 2000;
  return check;
}

/// A later profile of the step of exact_profile(), at 8 alone.
Profile brief_profile(double ms, std::uint64_t peak_bytes) {
  Profile brief;
  brief.batch_size = 8;
  brief.peak_bytes = peak_bytes;
  brief.time_samples = {{8, {ms, ms * 0.99, ms * 1.01}, 3}};
  brief.memory_samples = {{8, peak_bytes}};
  fit_models(brief);
  return brief;
}

TEST(PredictBatch, FollowsTheLines) {
  const BatchPrediction batch = predict_batch(exact(), 32);
  EXPECT_NEAR(batch.ms->value, 74, 1e-9);
  EXPECT_NEAR(batch.samples_per_second->value, 1000 * 32 / 74.0, 1e-6);
  EXPECT_NEAR(batch.peak_bytes->value, 4200, 1e-6);
  EXPECT_TRUE(batch.extrapolated);
  EXPECT_FALSE(batch.fits.has_value());
  EXPECT_FALSE(batch.measured.has_value());
}

TEST(PredictBatch, AgreesWithTheSamplesWithinItsIntervals) {
  const std::vector<Sample> samples = {{4, 18.4, 1500}, {8, 25.5, 1750}, {16, 42.2, 2700}, {24, 58.1, 3400}};
  const Predictor predictor = predictor_of(samples);
  for (const Sample& sample : samples) {
    const BatchPrediction batch = predict_batch(predictor, sample.batch_size);
    EXPECT_FALSE(batch.extrapolated);
    EXPECT_LE(batch.ms->interval->low, sample.ms);
    EXPECT_GE(*batch.ms->interval->high, sample.ms);
    const double rate = 1000.0 * sample.batch_size / sample.ms;
    EXPECT_LE(batch.samples_per_second->interval->low, rate);
    EXPECT_GE(batch.samples_per_second->interval->high.value_or(INFINITY), rate);
    EXPECT_LE(batch.peak_bytes->interval->low, static_cast<double>(sample.peak_bytes));
    EXPECT_GE(*batch.peak_bytes->interval->high, static_cast<double>(sample.peak_bytes));
    ASSERT_TRUE(batch.measured.has_value());
    EXPECT_EQ(batch.measured->ms.value, sample.ms);
    EXPECT_EQ(batch.measured->peak_bytes, sample.peak_bytes);
    EXPECT_DOUBLE_EQ(batch.measured->samples_per_second, rate);
  }
}

TEST(PredictBatch, TwoSizesGiveNoIntervals) {
  const BatchPrediction batch = predict_batch(predictor_of({{4, 18, 1400}, {8, 26, 1800}}), 6);
  EXPECT_NEAR(batch.ms->value, 22, 1e-9);
  EXPECT_FALSE(batch.ms->interval.has_value());
  EXPECT_FALSE(batch.samples_per_second->interval.has_value());
  EXPECT_FALSE(batch.peak_bytes->interval.has_value());
}

TEST(PredictBatch, AnIntervalThatReachesZeroLeavesThroughputWithoutABound) {
  Profile profile;
  for (const auto& [batch_size, ms] : {std::pair{4, 10.0}, {8, 30.0}, {16, 32.0}}) {
    profile.time_samples.push_back({batch_size, {ms, ms / 4, ms * 4}, 20});  // so uncertain that nothing bends
  }
  const BatchPrediction batch = predict_batch(fitted_predictor(profile), 4);
  EXPECT_EQ(batch.ms->interval->low, 0);
  EXPECT_FALSE(batch.samples_per_second->interval->high.has_value());
  EXPECT_GT(batch.samples_per_second->interval->low, 0);
  EXPECT_LT(batch.samples_per_second->interval->low, batch.samples_per_second->value);
}

TEST(PredictBatch, SaysWhetherItFits) {
  EXPECT_EQ(predict_batch(exact(4250), 32).fits, true);
  EXPECT_EQ(predict_batch(exact(4250), 33).fits, false);
}

// With a negative intercept the line falls to nothing below the samples; one that does not grow falls beyond them.
TEST(PredictBatch, AsksALineOnlyWhereItCanBeBelieved) {
  const Predictor negative = predictor_of({{4, 6, 100}, {8, 14, 300}, {16, 30, 700}});
  EXPECT_NEAR(predict_batch(negative, 4).ms->value, 6, 1e-9);
  EXPECT_FALSE(predict_batch(negative, 3).ms.has_value());
  EXPECT_FALSE(predict_batch(negative, 3).samples_per_second.has_value());
  EXPECT_FALSE(predict_batch(negative, 3).peak_bytes.has_value());
  EXPECT_NEAR(predict_batch(negative, 100).ms->value, 198, 1e-9);

  const Predictor falling = predictor_of({{4, 30, 700}, {8, 28, 690}, {16, 24, 670}});
  EXPECT_NEAR(predict_batch(falling, 12).ms->value, 26, 1e-9);
  for (const int outside : {1, 3, 17, kMaxBatchSize}) {
    EXPECT_FALSE(predict_batch(falling, outside).ms.has_value()) << outside;
    EXPECT_FALSE(predict_batch(falling, outside).peak_bytes.has_value()) << outside;
  }
}

TEST(PredictBatch, AsksTheLedgerForMemory) {
  for (const auto& [batch_size, bytes] : {std::pair{1, 5000.0}, {17, 5000.0}, {41, 5100.0}, {100, 11000.0}}) {
    const BatchPrediction batch = predict_batch(with_ledger(), batch_size);
    EXPECT_EQ(batch.peak_bytes->value, bytes);
    const double beyond = std::max({0.0, std::log2(batch_size / 32.0), std::log2(2.0 / batch_size)});
    const double part = beyond > 0 ? 0.01 * (1 + beyond) : 0;  // from 2 to 32 it is exact
    EXPECT_EQ(batch.peak_bytes->interval->low, bytes * (1 - part));
    EXPECT_EQ(*batch.peak_bytes->interval->high, bytes * (1 + part));
  }
  EXPECT_FALSE(predict_batch(with_ledger(false), 9).peak_bytes->interval.has_value());
}

/// Measured: 4, 8 and 16. Exact from half to twice of that, and a guess elsewhere.
TEST(PredictBatch, SaysWhatOfTheMemoryIsKnown) {
  const auto certainty = [](const Predictor& predictor, int size) {
    return predict_batch(predictor, size).peak_bytes->certainty;
  };
  for (const int known : {2, 4, 5, 16, 32}) {
    EXPECT_EQ(certainty(with_ledger(), known), Certainty::kKnown) << known;
  }
  for (const int guess : {1, 33, 100}) {
    EXPECT_EQ(certainty(with_ledger(), guess), Certainty::kAbout) << guess;
  }
  EXPECT_EQ(certainty(with_ledger(false), 5), Certainty::kAbout);
  EXPECT_EQ(certainty(with_ledger(false), 8), Certainty::kKnown);
  EXPECT_EQ(predict_batch(with_ledger(), 8).peak_bytes->value, 1800) << "as it was measured";
  EXPECT_EQ(certainty(exact(), 5), Certainty::kAbout) << "a straight line through peaks";
  Predictor not_linear = with_ledger();
  not_linear.peaks->low = {{1, 0, 1000}};
  not_linear.peaks->high = {{1, 0, 9000}};
  EXPECT_EQ(certainty(not_linear, 5), Certainty::kAbout);
}

/// Beyond twice the largest sampled size there is a bound only.
TEST(PredictBatch, SaysThatFarAwayTheTimeIsABound) {
  const Predictor predictor = exact();
  const BatchPrediction near = predict_batch(predictor, 32);
  EXPECT_EQ(near.ms->certainty, Certainty::kAbout);
  EXPECT_TRUE(near.ms->interval->high.has_value());
  const BatchPrediction far = predict_batch(predictor, 33);
  EXPECT_EQ(far.ms->certainty, Certainty::kAtLeast);
  EXPECT_FALSE(far.ms->interval->high.has_value());
  EXPECT_LT(far.ms->interval->low, far.ms->value);
  EXPECT_EQ(far.samples_per_second->certainty, Certainty::kAtMost);
  EXPECT_EQ(far.samples_per_second->interval->low, 0);
  EXPECT_GT(33000 / far.ms->interval->low, 500);
  EXPECT_NEAR(*far.samples_per_second->interval->high, 500, 1e-9) << "the greatest throughput";
  EXPECT_EQ(predict_batch(predictor, 8).ms->certainty, Certainty::kKnown);
  EXPECT_EQ(predict_batch(predictor, 8).ms->value, 26);
}

/// "At most 55 samples/s" beside a maximum of 18 would contradict itself: where the bound is that far away, the
/// estimate.
TEST(PredictBatch, StatesNoBoundFarFromTheEstimate) {
  const Predictor noisy = predictor_of({{4, 12, 1400}, {8, 32, 1800}, {16, 42, 2600}});
  const BatchPrediction far = predict_batch(noisy, 200);
  ASSERT_TRUE(far.ms.has_value());
  EXPECT_LT(far.ms->interval->low * 1.5, far.ms->value);
  EXPECT_EQ(far.ms->certainty, Certainty::kAbout);
  EXPECT_FALSE(far.ms->interval->high.has_value());
  EXPECT_EQ(far.samples_per_second->certainty, Certainty::kAbout);
}

TEST(PredictBatch, StatesNoBoundAboveTheMaximum) {
  const Predictor predictor = predictor_of({{4, 18.4, 1400}, {8, 25.5, 1800}, {16, 42.2, 2600}, {24, 58.1, 3400}});
  const double greatest = *greatest_throughput(predictor);
  bool capped = false;
  for (const int size : {49, 64, 100, 1000, 100'000}) {
    const BatchPrediction far = predict_batch(predictor, size);
    if (far.samples_per_second->certainty != Certainty::kAtMost) {
      continue;
    }
    EXPECT_LE(*far.samples_per_second->interval->high, greatest) << size;
    EXPECT_GE(*far.samples_per_second->interval->high, far.samples_per_second->value) << size;
    capped = capped || 1000.0 * size / far.ms->interval->low > greatest;
  }
  EXPECT_TRUE(capped) << "no bound of these times is above the maximum";
}

TEST(MakePredictor, AgreesWithWhatWasTriedBeyondTheModel) {
  for (const auto& [size, ms] : {std::pair{12, 45.0}, {12, 20.0}, {32, 150.0}, {32, 50.0}, {2, 30.0}}) {
    Profile profile = exact_profile();
    const Estimate before = *predict_batch(make_predictor(profile), size).ms;
    ASSERT_TRUE(ms < before.interval->low || ms > *before.interval->high) << size;
    profile.checks = {check_of(size, ms)};
    const Predictor predictor = make_predictor(profile);
    EXPECT_TRUE(predictor.refitted);
    EXPECT_TRUE(outlook_of(profile).refitted);
    const BatchPrediction there = predict_batch(predictor, size);
    ASSERT_TRUE(there.ms.has_value()) << size;
    EXPECT_LE(there.ms->interval->low, ms);
    EXPECT_GE(there.ms->interval->high.value_or(ms), ms);
    // The samples are still what they were, within the intervals, and what lies next to the size that ran follows it.
    for (const TimeSample& sample : profile.time_samples) {
      const Estimate estimate = *predict_batch(predictor, sample.batch_size).ms;
      EXPECT_LE(estimate.interval->low, sample.ms.value);
      EXPECT_GE(*estimate.interval->high, sample.ms.value);
    }
    const int next = size + (size > 8 ? -1 : 1);
    const Estimate beside = *predict_batch(make_predictor(exact_profile()), next).ms;
    EXPECT_EQ(predict_batch(predictor, next).ms->value > beside.value, ms > before.value) << size << " " << ms;
    EXPECT_EQ(profile.time_model->samples, 3) << "the profile's own model, which its lines add up to, stays";
  }
}

TEST(MakePredictor, KeepsAModelThatWasRight) {
  Profile profile = exact_profile();
  profile.checks = {check_of(12, 34.2)};
  EXPECT_FALSE(make_predictor(profile).refitted);
  profile.time_samples.pop_back();
  fit_models(profile);
  ASSERT_FALSE(predict_batch(make_predictor(exact_profile()), 12).measured.has_value());
  EXPECT_TRUE(make_predictor(profile).refitted) << "of two sizes there is no interval: the third one gives it";
  EXPECT_TRUE(predict_batch(make_predictor(profile), 14).ms->interval.has_value());
}

TEST(CarriedOver, PredictsWhatWasMeasuredBefore) {
  const Predictor earlier = make_predictor(exact_profile());
  const auto carried = carried_over(earlier, brief_profile(26.2, 1801));
  ASSERT_TRUE(carried.has_value());
  const BatchPrediction other = predict_batch(*carried, 16);  // a sample of the earlier one
  EXPECT_TRUE(other.carried_over);
  EXPECT_FALSE(other.measured.has_value());
  EXPECT_NEAR(other.ms->value, 42, 1e-6);
  EXPECT_EQ(other.ms->certainty, Certainty::kAbout);
  EXPECT_EQ(other.samples_per_second->certainty, Certainty::kAbout);
  EXPECT_EQ(other.peak_bytes->certainty, Certainty::kAbout);
  const BatchPrediction own = predict_batch(*carried, 8);
  EXPECT_FALSE(own.carried_over);
  EXPECT_EQ(own.measured->ms.value, 26.2);
  EXPECT_EQ(own.measured->peak_bytes, 1801U);
  ASSERT_EQ(measured_rates(*carried).size(), 1U);
  EXPECT_FALSE(ask(*carried, Quantity::kThroughput, 400).batch->measured.has_value());
}

TEST(CarriedOver, IsNothingForAnotherStep) {
  const Predictor earlier = make_predictor(exact_profile());
  EXPECT_TRUE(carried_over(earlier, brief_profile(26, 1800)).has_value());
  EXPECT_FALSE(carried_over(earlier, brief_profile(28, 1800)).has_value()) << "slower";
  EXPECT_FALSE(carried_over(earlier, brief_profile(24, 1800)).has_value()) << "faster";
  EXPECT_FALSE(carried_over(earlier, brief_profile(26, 1850)).has_value()) << "other memory";
  EXPECT_FALSE(carried_over(earlier, exact_profile()).has_value()) << "it has a model of its own";
  Profile elsewhere = brief_profile(26, 1800);
  elsewhere.batch_size = elsewhere.time_samples[0].batch_size = elsewhere.memory_samples[0].batch_size = 12;
  EXPECT_FALSE(carried_over(earlier, elsewhere).has_value()) << "nothing to compare with";
}

TEST(CarriedOver, FollowsATrial) {
  Profile brief = brief_profile(26, 1800);
  brief.checks = {check_of(12, 45)};
  const auto carried = carried_over(make_predictor(exact_profile()), brief);
  ASSERT_TRUE(carried.has_value());
  EXPECT_EQ(predict_batch(*carried, 12).measured->ms.value, 45);
  EXPECT_GT(predict_batch(*carried, 13).ms->value, 36);
}

TEST(PredictBatch, SaysWhatIsAliveAtThePeak) {
  const BatchPrediction batch = predict_batch(with_parts(), 50);
  ASSERT_TRUE(batch.by_category.has_value());
  EXPECT_EQ((*batch.by_category)[static_cast<std::size_t>(Category::kActivations)], 5000);
  EXPECT_EQ((*batch.by_category)[static_cast<std::size_t>(Category::kWeights)], 1000);
  EXPECT_FALSE(predict_batch(exact(), 50).by_category.has_value());
}

}  // namespace
}  // namespace ridgeline::analysis
