// What a profile concludes about its batch size.
#include "analysis/prediction/batch_conclusion.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "predictor_examples.h"

namespace ridgeline::analysis {
namespace {

using testing::exact;
using testing::predictor_of;
using testing::Sample;
using testing::with_parts;

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

}  // namespace
}  // namespace ridgeline::analysis
