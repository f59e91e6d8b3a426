// Batch sizes that answer a question.
#include "analysis/prediction/answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "predictor_examples.h"

namespace ridgeline::analysis {
namespace {

using testing::ask;
using testing::exact;
using testing::peaks_of;
using testing::predictor_of;
using testing::Sample;
using testing::with_ledger;
using testing::with_parts;

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

TEST(AnswerBalance, IsWhereActivationsReachTheWeights) {
  EXPECT_EQ(ask(with_parts(), Quantity::kBalance, 1).batch->batch_size, 34);
  EXPECT_EQ(ask(with_parts(), Quantity::kBalance, 2).batch->batch_size, 41);
  EXPECT_EQ(ask(exact(), Quantity::kBalance, 1).obstacle, Obstacle::kMemoryUnknown);
  Predictor none = exact();
  none.peaks = peaks_of({{1, 10, 5000}}, true);
  none.peaks->parts = {{{Category::kWeights, {}, 0, 5000}, {Category::kInputs, {}, 10, 0}}};
  EXPECT_EQ(ask(none, Quantity::kBalance, 1).obstacle, Obstacle::kNoBalance);
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
