#include "analysis/prediction/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "analysis/prediction/predictor.h"

namespace ridgeline::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

constexpr std::uint64_t kPlenty = 1'000'000;

/// R(B) = 2 B + 10 ms, M(B) = 100 B + 1000 bytes, profiled at 8.
Profile profile_at_8(double slowness = 1) {
  Profile profile;
  profile.batch_size = 8;
  profile.capacity_bytes = kPlenty;
  for (const int size : {4, 8, 16}) {
    const double ms = slowness * (2 * size + 10);
    profile.time_samples.push_back({size, {ms, ms * 0.995, ms * 1.005}, 20});
    profile.memory_samples.push_back({size, 100 * static_cast<std::uint64_t>(size) + 1000});
  }
  fit_models(profile);
  profile.iteration.ms = profile.time_samples[1].ms;
  profile.peak_bytes = profile.memory_samples[1].peak_bytes;
  return profile;
}

BatchPrediction predicted(const Profile& profile, int batch_size) {
  return predict_batch(make_predictor(profile), batch_size);
}

/// What the run of a trial measured, on a machine that takes `slowness` times as long as in the profile.
Profile run_of(int batch_size, double ms, std::uint64_t peak_bytes, double slowness = 1) {
  Profile run = profile_at_8(slowness);
  run.time_samples = {run.time_samples[1]};
  Check check;
  check.time = {batch_size, {slowness * ms, slowness * ms * 0.99, slowness * ms * 1.01}, 6};
  check.peak_bytes = peak_bytes;
  run.checks = {check};
  return run;
}

TEST(WhyNotTried, SaysNothingOfWhatFitsAndIsShort) {
  const Profile profile = profile_at_8();
  EXPECT_EQ(why_not_tried(profile, predicted(profile, 12), kPlenty), std::nullopt);
  EXPECT_EQ(why_not_tried(profile, predicted(profile, 32), kPlenty), std::nullopt);
}

TEST(WhyNotTried, LeavesRoomInTheMemoryThatIsFree) {
  Profile profile = profile_at_8();
  const BatchPrediction batch = predicted(profile, 12);
  const auto upper = static_cast<std::uint64_t>(*batch.peak_bytes->interval->high);
  EXPECT_EQ(why_not_tried(profile, batch, 2 * upper), std::nullopt);
  EXPECT_THAT(why_not_tried(profile, batch, upper), Optional(HasSubstr("may not fit")));
  profile.capacity_bytes = 1500;
  EXPECT_THAT(why_not_tried(profile, predicted(profile, 12), kPlenty), Optional(HasSubstr("would not fit")));
}

TEST(WhyNotTried, DoesNotTrustAModelThatNothingHasChecked) {
  Profile profile = profile_at_8();
  profile.time_samples.pop_back();
  profile.memory_samples.pop_back();
  fit_models(profile);
  const BatchPrediction batch = predicted(profile, 16);
  ASSERT_FALSE(batch.peak_bytes->interval.has_value());
  EXPECT_THAT(why_not_tried(profile, batch, static_cast<std::uint64_t>(1.3 * batch.peak_bytes->value)),
              Optional(HasSubstr("may not fit")));
}

TEST(WhyNotTried, RefusesWhatTakesTooLong) {
  Profile profile = profile_at_8(30);  // 780 ms at 8: the reference alone takes 16 s
  EXPECT_THAT(why_not_tried(profile, predicted(profile, 64), kPlenty), Optional(HasSubstr("could take")));
  profile.time_samples.clear();
  fit_models(profile);
  EXPECT_THAT(why_not_tried(profile, predicted(profile, 12), kPlenty), Optional(HasSubstr("not known")));
}

TEST(WithTrial, PutsTheMeasuredFigureInThePlaceOfThePredictedOne) {
  const Profile profile = profile_at_8();
  const auto known = with_trial(profile, run_of(12, 40, 2345), 12);
  ASSERT_TRUE(known.has_value()) << known.error().message();
  const BatchPrediction batch = predicted(*known, 12);
  ASSERT_TRUE(batch.measured.has_value());
  EXPECT_EQ(batch.measured->origin, Origin::kTried);
  EXPECT_NEAR(batch.measured->ms.value, 40, 1e-9);
  EXPECT_NEAR(batch.measured->samples_per_second, 300, 1e-6);
  EXPECT_EQ(batch.measured->peak_bytes, 2345U);
  EXPECT_FALSE(batch.measured->machine_changed);
  EXPECT_NEAR(known->checks[0].predicted_ms->value, 34, 1e-6);
  EXPECT_EQ(needed_bytes(batch), 2345.0);
  EXPECT_FALSE(predicted(profile, 12).measured.has_value()) << "the held value changed";
}

TEST(WithTrial, ScalesToTheMachineAsItWasAndSaysSo) {
  const Profile profile = profile_at_8();
  const auto known = with_trial(profile, run_of(12, 40, 2200, 1.25), 12);
  ASSERT_TRUE(known.has_value()) << known.error().message();
  const Measurement measured = *predicted(*known, 12).measured;
  EXPECT_NEAR(measured.ms.value, 40, 1e-9);
  EXPECT_LT(measured.ms.low, 40 * 0.99) << "what is scaled is less certain than what was measured";
  EXPECT_GT(measured.ms.high, 40 * 1.01);
  EXPECT_NEAR(measured.machine_speed, 0.8, 1e-9);
  EXPECT_TRUE(measured.machine_changed);
}

TEST(WithTrial, TakesAFailureForAnObservation) {
  const Profile profile = profile_at_8();
  Profile run = run_of(12, 40, 2200);
  run.checks.clear();
  run.skipped = {{12, protocol::FailureKind::kOutOfMemory, "too much"}};
  const auto known = with_trial(profile, run, 12);
  ASSERT_TRUE(known.has_value()) << known.error().message();
  EXPECT_EQ(predicted(*known, 12).fits, false);
  EXPECT_EQ(predicted(*known, 12).failed->kind, protocol::FailureKind::kOutOfMemory);
  EXPECT_EQ(predicted(*known, 14).fits, false);
  EXPECT_FALSE(predicted(*known, 14).failed.has_value());
  EXPECT_EQ(predicted(*known, 10).fits, true);

  const auto again = with_trial(*known, run_of(12, 40, 2200), 12);
  EXPECT_FALSE(predicted(*again, 12).failed.has_value()) << "it has run since";
  EXPECT_EQ(predicted(*again, 12).fits, true);
}

TEST(WithTrial, IsOfTheStepThatWasProfiled) {
  Profile run = run_of(12, 40, 2200);
  run.peak_bytes *= 2;
  EXPECT_THAT(with_trial(profile_at_8(), run, 12).error().message(), HasSubstr("memory"));
  run = run_of(12, 40, 2200);
  run.batch_size = 4;
  run.time_samples[0].batch_size = 4;
  EXPECT_FALSE(with_trial(profile_at_8(), run, 12).has_value());
}

}  // namespace
}  // namespace ridgeline::analysis
