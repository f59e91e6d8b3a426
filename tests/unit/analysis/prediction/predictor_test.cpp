#include "analysis/prediction/predictor.h"

#include "analysis/prediction/answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/unit/analysis/fitted_predictor.h"

namespace ridgeline::analysis {
namespace {

struct Sample {
  int batch_size;
  double ms;
  std::uint64_t peak_bytes;
};

Predictor predictor_of(const std::vector<Sample>& samples, std::uint64_t capacity = 0) {
  Profile profile;
  profile.capacity_bytes = capacity;
  for (const Sample& sample : samples) {
    profile.time_samples.push_back({sample.batch_size, {sample.ms, sample.ms * 0.99, sample.ms * 1.01}, 20});
    profile.memory_samples.push_back({sample.batch_size, sample.peak_bytes});
  }
  return fitted_predictor(profile);
}

/// R(B) = 2 B + 10 ms, M(B) = 100 B + 1000 bytes.
Predictor exact(std::uint64_t capacity = 0) {
  return predictor_of({{4, 18, 1400}, {8, 26, 1800}, {16, 42, 2600}}, capacity);
}

Answer ask(const Predictor& predictor, Quantity quantity, double value) { return answer(predictor, {quantity, value}); }

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

TEST(AnswerBatchSize, IsThePrediction) {
  const Answer found = ask(exact(), Quantity::kBatchSize, 64);
  ASSERT_TRUE(found.batch.has_value());
  EXPECT_EQ(found.batch->batch_size, 64);
  EXPECT_EQ(found.obstacle, Obstacle::kNone);
  EXPECT_NEAR(*found.max_samples_per_second, 500, 1e-9);
  EXPECT_EQ(found.sampled, (std::vector<int>{4, 8, 16}));
}

TEST(AnswerBatchSize, ASampledSizeHasTheMeasuredTime) {
  const Predictor one = predictor_of({{8, 26, 1800}});
  const Answer there = ask(one, Quantity::kBatchSize, 8);
  EXPECT_EQ(there.obstacle, Obstacle::kTooFewSizes);
  ASSERT_TRUE(there.batch.has_value());
  EXPECT_EQ(there.batch->measured->peak_bytes, 1800U);
  EXPECT_FALSE(ask(one, Quantity::kBatchSize, 9).batch.has_value());
  EXPECT_EQ(ask(one, Quantity::kThroughput, 1).obstacle, Obstacle::kTooFewSizes);
  EXPECT_EQ(ask(one, Quantity::kMemory, 1e9).obstacle, Obstacle::kTooFewSizes);
}

TEST(AnswerThroughput, GoesThereAndBack) {
  const Predictor predictor = exact();
  for (const int size : {1, 2, 5, 16, 63, 1000, 99999}) {
    const double rate = predict_batch(predictor, size).samples_per_second->value;
    const Answer found = ask(predictor, Quantity::kThroughput, rate);
    ASSERT_TRUE(found.batch.has_value()) << size;
    EXPECT_EQ(found.batch->batch_size, size);
    EXPECT_GE(found.batch->samples_per_second->value, rate);
  }
}

TEST(AnswerThroughput, IsTheSmallestThatIsEnough) {
  // 100 samples/s: B / (2 B + 10 ms) >= 0.1, so B >= 1.25.
  EXPECT_EQ(ask(exact(), Quantity::kThroughput, 100).batch->batch_size, 2);
}

TEST(AnswerThroughput, HasAMaximum) {
  for (const double wanted : {500.0, 501.0, 1e12}) {
    const Answer found = ask(exact(), Quantity::kThroughput, wanted);
    EXPECT_EQ(found.obstacle, Obstacle::kTooFast) << wanted;
    EXPECT_FALSE(found.batch.has_value());
    EXPECT_NEAR(*found.max_samples_per_second, 500, 1e-9);
  }
  EXPECT_TRUE(ask(exact(), Quantity::kThroughput, 499.9).batch.has_value());
}

TEST(AnswerThroughput, FallsWithTheBatchWhereTheInterceptIsNegative) {
  // R(B) = 2 B - 2 ms: 667 samples/s at the smallest sampled size, 500 in the limit.
  const Predictor negative = predictor_of({{4, 6, 100}, {8, 14, 300}, {16, 30, 700}});
  EXPECT_EQ(ask(negative, Quantity::kThroughput, 600).batch->batch_size, 4);
  const Answer too_fast = ask(negative, Quantity::kThroughput, 700);
  EXPECT_EQ(too_fast.obstacle, Obstacle::kTooFast);
  EXPECT_NEAR(*too_fast.max_samples_per_second, 1000 * 4 / 6.0, 1e-6);
}

TEST(AnswerThroughput, KnowsOnlyTheSampledSizesWhereTimeDoesNotGrow) {
  const Predictor flat = predictor_of({{4, 20, 100}, {8, 20, 200}, {16, 20, 400}});
  EXPECT_EQ(ask(flat, Quantity::kThroughput, 499.9).batch->batch_size, 10);
  const Answer beyond = ask(flat, Quantity::kThroughput, 801);
  EXPECT_EQ(beyond.obstacle, Obstacle::kTimeUnknown);
  EXPECT_FALSE(beyond.batch.has_value());
  EXPECT_FALSE(beyond.max_samples_per_second.has_value());
}

TEST(AnswerMemory, GoesThereAndBack) {
  const Predictor predictor = exact();
  for (const int size : {1, 2, 5, 16, 63, 4096}) {
    const double bytes = predict_batch(predictor, size).peak_bytes->value;
    EXPECT_EQ(ask(predictor, Quantity::kMemory, bytes).batch->batch_size, size);
    EXPECT_EQ(ask(predictor, Quantity::kMemory, bytes + 99).batch->batch_size, size);
  }
}

TEST(AnswerMemory, SaysWhatTheLeastNeeds) {
  const Answer found = ask(exact(), Quantity::kMemory, 1050);
  EXPECT_EQ(found.obstacle, Obstacle::kTooLittleMemory);
  EXPECT_FALSE(found.batch.has_value());
  EXPECT_EQ(found.least->batch_size, 1);
  EXPECT_NEAR(found.least->peak_bytes->value, 1100, 1e-6);
}

TEST(AnswerMemory, StaysWithinTheSamplesWhereItDoesNotGrow) {
  const Predictor falling = predictor_of({{4, 10, 700}, {8, 20, 690}, {16, 40, 670}});
  const Answer enough = ask(falling, Quantity::kMemory, 680);
  EXPECT_EQ(enough.batch->batch_size, 16);
  EXPECT_EQ(enough.obstacle, Obstacle::kMemoryUnknown);
  const Answer too_little = ask(falling, Quantity::kMemory, 600);
  EXPECT_EQ(too_little.obstacle, Obstacle::kTooLittleMemory);
  EXPECT_EQ(too_little.least->batch_size, 16);
}

TEST(AnswerMemory, IsBoundedHoweverMuchThereIs) {
  const Answer far = ask(exact(), Quantity::kMemory, 1e18);
  EXPECT_EQ(far.batch->batch_size, kFarthest * 16);
  EXPECT_EQ(far.obstacle, Obstacle::kTooFar);
  const double near = predict_batch(exact(), kFarthest * 16).peak_bytes->value;
  EXPECT_EQ(ask(exact(), Quantity::kMemory, near).obstacle, Obstacle::kNone);
}

PeakModel peaks_of(std::vector<Piece> pieces, bool checked) {
  PeakModel model;
  model.value = std::move(pieces);
  model.checked = checked;
  model.allocations = 3;
  return model;
}

/// As exact(), with a ledger: a workspace of 5000 bytes rules up to a batch of 40.
Predictor with_ledger(bool checked = true) {
  Predictor predictor = exact();
  predictor.peaks = peaks_of({{1, 0, 5000}, {41, 100, 1000}}, checked);
  return predictor;
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

TEST(AnswerMemory, AsksTheLedger) {
  EXPECT_EQ(ask(with_ledger(), Quantity::kMemory, 11000).batch->batch_size, 100);
  EXPECT_EQ(ask(with_ledger(), Quantity::kMemory, 5099).batch->batch_size, 40);
  const Answer none = ask(with_ledger(), Quantity::kMemory, 4999);
  EXPECT_EQ(none.obstacle, Obstacle::kTooLittleMemory);
  EXPECT_FALSE(none.batch.has_value());
  EXPECT_EQ(none.least->batch_size, 1);
}

TEST(AnswerMemory, WithoutGrowthStaysWithinTheSamples) {
  Predictor predictor = exact();
  predictor.peaks = peaks_of({{1, 0, 5000}}, true);
  const Answer answer = ask(predictor, Quantity::kMemory, 6000);
  EXPECT_EQ(answer.batch->batch_size, 16);
  EXPECT_EQ(answer.obstacle, Obstacle::kMemoryUnknown);
}

// Noise can put a measurement above all that the model gives: then it is the maximum, and enough.
TEST(AnswerThroughput, TakesAMeasurementForMoreThanTheModel) {
  Predictor predictor = exact();  // at most 500 samples/s
  Check check;
  check.time = {12, {20, 19, 21}, 10};  // 600; the model has 353
  check.peak_bytes = 2200;
  predictor.checks.push_back(check);
  EXPECT_DOUBLE_EQ(*greatest_throughput(predictor), 600);
  EXPECT_EQ(ask(predictor, Quantity::kThroughput, 600).batch->batch_size, 12);
  EXPECT_EQ(ask(predictor, Quantity::kThroughput, 354).batch->batch_size, 12);
  EXPECT_EQ(ask(predictor, Quantity::kThroughput, 320).batch->batch_size, 9);
  EXPECT_EQ(ask(predictor, Quantity::kThroughputShare, kEnoughThroughput).batch->batch_size, 12);
  EXPECT_EQ(ask(predictor, Quantity::kThroughput, 601).obstacle, Obstacle::kTooFast);
  // One that gives less than the model says is not enough.
  predictor.checks.front().time.ms = {60, 59, 61};  // 200
  EXPECT_EQ(ask(predictor, Quantity::kThroughput, 352).batch->batch_size, 13);
  EXPECT_DOUBLE_EQ(*greatest_throughput(predictor), 500);
}

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

TEST(AnswerThroughput, SearchesPieceByPiece) {
  // 20 ms up to a batch of 16, 1 ms for each sample beyond: 16 / 20 ms = 800 samples/s, 1000 in the limit.
  const Predictor bent = predictor_of({{4, 20, 1}, {8, 20, 2}, {16, 20, 3}, {32, 36, 4}, {64, 68, 5}});
  EXPECT_EQ(ask(bent, Quantity::kThroughput, 499.9).batch->batch_size, 10);
  EXPECT_EQ(ask(bent, Quantity::kThroughput, 799).batch->batch_size, 16);
  EXPECT_EQ(ask(bent, Quantity::kThroughput, 899.9).batch->batch_size, 36);
  EXPECT_EQ(ask(bent, Quantity::kThroughput, 1001).obstacle, Obstacle::kTooFast);
  EXPECT_NEAR(*ask(bent, Quantity::kThroughput, 1).max_samples_per_second, 1000, 1e-6);
  EXPECT_FALSE(predict_batch(bent, 3).ms.has_value()) << "flat at the small end: nothing is known below";
}

TEST(AnswerThroughputShare, IsTheSmallestThatIsEnough) {
  // B / (2 B + 10) of at most 1/2: 95 % of it from B = 95 on.
  const Answer found = ask(exact(), Quantity::kThroughputShare, 0.95);
  EXPECT_EQ(found.batch->batch_size, 95);
  EXPECT_TRUE(found.batch->extrapolated);
  const Predictor flat = predictor_of({{4, 20, 100}, {8, 20, 200}, {16, 20, 400}});
  EXPECT_EQ(ask(flat, Quantity::kThroughputShare, 0.95).obstacle, Obstacle::kTimeUnknown);
  EXPECT_EQ(ask(predictor_of({{8, 26, 1800}}), Quantity::kThroughputShare, 0.95).obstacle, Obstacle::kTooFewSizes);
}

/// 1000 bytes of weights, 30 of activations for each sample; from a batch of 41 on, at another instant, 100.
Predictor with_parts() {
  Predictor predictor = exact();
  predictor.peaks = peaks_of({{1, 30, 5000}, {41, 100, 1000}}, true);
  const PeakPart weights{Category::kWeights, {"a.py", 1}, 0, 1000};
  predictor.peaks->parts = {
      {weights, {Category::kTemporaries, {}, 0, 4000}, {Category::kActivations, {"a.py", 2}, 30, 0}},
      {weights, {Category::kActivations, {"a.py", 2}, 100, 0}}};
  return predictor;
}

TEST(PredictBatch, SaysWhatIsAliveAtThePeak) {
  const BatchPrediction batch = predict_batch(with_parts(), 50);
  ASSERT_TRUE(batch.by_category.has_value());
  EXPECT_EQ((*batch.by_category)[static_cast<std::size_t>(Category::kActivations)], 5000);
  EXPECT_EQ((*batch.by_category)[static_cast<std::size_t>(Category::kWeights)], 1000);
  EXPECT_FALSE(predict_batch(exact(), 50).by_category.has_value());
}

TEST(AnswerBalance, IsWhereActivationsReachTheWeights) {
  EXPECT_EQ(ask(with_parts(), Quantity::kBalance, 1).batch->batch_size, 34);
  EXPECT_EQ(ask(with_parts(), Quantity::kBalance, 2).batch->batch_size, 41);
  EXPECT_EQ(ask(exact(), Quantity::kBalance, 1).obstacle, Obstacle::kMemoryUnknown);
  Predictor none = exact();
  none.peaks = peaks_of({{1, 10, 5000}}, true);
  none.peaks->parts = {{{Category::kWeights, {}, 0, 5000}, {Category::kInputs, {}, 10, 0}}};
  EXPECT_EQ(ask(none, Quantity::kBalance, 1).obstacle, Obstacle::kNoBalance);
}

TEST(Outlook, AnswersWhatIsAskedFirst) {
  Predictor predictor = with_parts();
  predictor.capacity_bytes = 11000;
  Profile profile;
  profile.batch_size = 16;
  profile.iteration.ms = {42, 41.9, 42.1};
  const Outlook outlook = outlook_of(predictor, profile);
  EXPECT_EQ(outlook.now.batch->batch_size, 16);
  EXPECT_EQ(outlook.twice.batch->batch_size, 32);
  EXPECT_EQ(outlook.fits.batch->batch_size, 100);
  EXPECT_EQ(outlook.enough.batch->batch_size, 95);
  EXPECT_EQ(outlook.balanced.batch->batch_size, 34);
  predictor.capacity_bytes = 0;
  EXPECT_FALSE(outlook_of(predictor, profile).fits.batch.has_value());
  profile.batch_size = kMaxBatchSize;
  EXPECT_EQ(outlook_of(predictor, profile).twice.batch->batch_size, kMaxBatchSize);
}

/// The conclusion of a profile with these samples, of its own batch size.
BatchConclusion conclusion_of(const std::vector<Sample>& samples, int batch_size, std::uint64_t capacity = 0,
                              std::vector<Skipped> skipped = {}) {
  Predictor predictor = predictor_of(samples, capacity);
  predictor.skipped = std::move(skipped);
  Profile profile;
  profile.batch_size = batch_size;
  profile.iteration.ms = {100, 99, 101};
  return outlook_of(predictor, profile).conclusion;
}

TEST(BatchConclusion, RecommendsALargerBatchThatTrainsFaster) {
  const std::vector<Sample> samples = {{4, 18, 1400}, {8, 26, 1800}, {12, 34, 2200}, {16, 42, 2600}, {20, 50, 3000}};
  const BatchConclusion conclusion = conclusion_of(samples, 16);
  EXPECT_EQ(conclusion.verdict, BatchVerdict::kLarger);
  EXPECT_EQ(conclusion.better->batch_size, 32) << "95 % at 95, whose time is only a bound";
  EXPECT_NEAR(conclusion.gain->value, 32.0 / 74 * 42 / 16, 1e-6);
  EXPECT_GT(conclusion.gain->interval->low, 1);
  const BatchConclusion within = conclusion_of(samples, 16, 4000);
  EXPECT_EQ(within.better->batch_size, 30) << "the largest that fits";
  const BatchConclusion full = conclusion_of({samples.begin(), samples.end() - 1}, 16, 2600);
  EXPECT_EQ(full.verdict, BatchVerdict::kLarger);
  EXPECT_FALSE(full.better.has_value());
  EXPECT_EQ(full.larger->fits, false);
}

TEST(BatchConclusion, SaysThatALargerBatchBringsLittle) {
  const std::vector<Sample> samples = {{8, 42, 1400}, {16, 82, 1800}, {32, 162, 2600}};  // 5 B + 2: 95 % at 8
  const BatchConclusion large = conclusion_of(samples, 32);
  EXPECT_EQ(large.verdict, BatchVerdict::kEnough);
  EXPECT_EQ(large.better->batch_size, 8);
  const BatchConclusion right = conclusion_of(samples, 8);
  EXPECT_EQ(right.verdict, BatchVerdict::kEnough);
  EXPECT_FALSE(right.better.has_value());
}

TEST(BatchConclusion, RecommendsNothingFarAwayOrThatFailed) {
  const std::vector<Sample> samples = {{4, 108, 1400}, {8, 116, 1800}, {12, 124, 2200}, {16, 132, 2600}};  // at 950
  const BatchConclusion far = conclusion_of(samples, 16);
  EXPECT_EQ(far.verdict, BatchVerdict::kLarger);
  EXPECT_EQ(far.better->batch_size, 32) << "twice, which is near";
  const BatchConclusion failed =
      conclusion_of(samples, 16, 100'000, {{24, protocol::FailureKind::kOutOfMemory, "out of memory"}});
  EXPECT_EQ(failed.verdict, BatchVerdict::kLarger);
  EXPECT_FALSE(failed.better.has_value());
}

TEST(BatchConclusion, IsNoneOfAnUnreliableTiming) {
  const Predictor predictor = exact();
  Profile profile;
  profile.batch_size = 16;
  profile.iteration.ms = {42, 40, 60};
  EXPECT_EQ(outlook_of(predictor, profile).conclusion.verdict, BatchVerdict::kUnsure);
  profile.iteration.ms = {42, 41.9, 42.1};
  profile.environment.others_used = 1.5;
  EXPECT_EQ(outlook_of(predictor, profile).conclusion.verdict, BatchVerdict::kUnsure);
}

TEST(AnswerMemory, StaysBelowASizeThatRanOutOfMemory) {
  Predictor predictor = exact(100'000);
  predictor.skipped = {{64, protocol::FailureKind::kOutOfMemory, ""}, {24, protocol::FailureKind::kOutOfMemory, ""}};
  const Answer fits = ask(predictor, Quantity::kMemory, 100'000);
  EXPECT_EQ(fits.batch->batch_size, 16) << "the largest that ran";
  EXPECT_EQ(fits.obstacle, Obstacle::kRanOut);
  EXPECT_EQ(fits.failed.front().batch_size, 24);
  EXPECT_EQ(ask(predictor, Quantity::kMemory, 2050).batch->batch_size, 10) << "below it the models answer";
  EXPECT_LE(batch_size_ladder(predictor).back(), 48);
  EXPECT_EQ(predict_batch(predictor, 24).fits, false);
}

TEST(BatchSizeLadder, RunsInSmallStepsBeyondWhatFits) {
  Predictor predictor = with_parts();
  predictor.capacity_bytes = 11000;  // 100 fits
  const std::vector<int> ladder = batch_size_ladder(predictor);
  EXPECT_EQ(ladder.front(), 1);
  EXPECT_GT(ladder.back(), 190);
  EXPECT_LE(ladder.back(), 200);
  for (std::size_t i = 1; i < ladder.size(); ++i) {
    EXPECT_GT(ladder[i], ladder[i - 1]);
    EXPECT_LE(ladder[i] - ladder[i - 1], std::max(1, ladder[i - 1] / 64)) << ladder[i];
  }
}

TEST(BatchSizeLadder, HoldsEverySampledSizeAndEnds) {
  for (const int sampled : {1, 1023, 70'001, kMaxBatchSize}) {
    const std::vector<int> ladder = batch_size_ladder(predictor_of({{sampled, 5, 100}}, 0));
    EXPECT_TRUE(std::ranges::binary_search(ladder, sampled)) << sampled;
    EXPECT_LE(ladder.back(), kMaxBatchSize);
    EXPECT_LT(ladder.size(), 1000U);
  }
  EXPECT_TRUE(batch_size_ladder(Predictor{}).empty());
}

TEST(Answer, NamesTheSizesThatRanOutOfMemoryUpToItsOwn) {
  Predictor predictor = exact();
  predictor.skipped = {{32, protocol::FailureKind::kOutOfMemory, "a"},
                       {128, protocol::FailureKind::kOutOfMemory, "b"},
                       {2, protocol::FailureKind::kException, "c"}};
  const Answer found = ask(predictor, Quantity::kBatchSize, 64);
  ASSERT_EQ(found.failed.size(), 1U);
  EXPECT_EQ(found.failed[0].batch_size, 32);
}

TEST(Answer, SurvivesSamplesWithoutSense) {
  for (const auto& samples : std::vector<std::vector<Sample>>{{},
                                                              {{1, 0, 0}, {1, 0, 0}},
                                                              {{1, 1e-300, 0}, {2, 1e300, 1}},
                                                              {{1, 1e300, ~0ULL}, {2, 1e-300, 0}},
                                                              {{kMaxBatchSize, 1, 1}, {1, 1, 1}}}) {
    const Predictor predictor = predictor_of(samples, 1);
    for (const double value : {1.0, 2.0, 16777216.0}) {
      for (const Quantity quantity : {Quantity::kBatchSize, Quantity::kThroughput, Quantity::kMemory}) {
        const Answer found = ask(predictor, quantity, value);
        if (found.batch.has_value() && found.batch->ms.has_value()) {
          EXPECT_GT(found.batch->ms->value, 0);
        }
        EXPECT_TRUE(found.batch.has_value() || found.obstacle != Obstacle::kNone);
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::analysis
