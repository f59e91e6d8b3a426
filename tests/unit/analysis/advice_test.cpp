#include "analysis/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/analysis/fitted_predictor.h"

namespace ridgeline::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// 100 ms at a batch of 16, half of them forward, and nothing to complain about. R(B) = 5 B + 20 ms; M(B) = B + 84 MB.
Profile healthy() {
  Profile profile;
  profile.batch_size = 16;
  profile.iteration.ms = {100, 99, 101};
  profile.iteration.by_phase = {50, 40, 0, 10, 0, 0};
  profile.peak_bytes = 100'000'000;
  profile.capacity_bytes = 1'000'000'000;
  for (const int size : {8, 16, 32}) {
    const double ms = 5.0 * size + 20;
    profile.time_samples.push_back({size, {ms, ms * 0.999, ms * 1.001}, 20});
    profile.memory_samples.push_back({size, static_cast<std::uint64_t>(size + 84) * 1'000'000});
  }
  for (const double ms : {30.0, 30.0, 30.0}) {
    LineCost line;
    line.location = {"net.py", static_cast<std::uint32_t>(10 + profile.lines.size())};
    line.self_ms = ms;
    line.self_by_phase = {ms / 2, ms / 3, 0, ms / 6, 0, 0};
    profile.lines.push_back(line);
  }
  return profile;
}

std::vector<AdviceKind> kinds(const Profile& profile, int batch_size = 16) {
  std::vector<AdviceKind> found;
  for (const Advice& advice : advise(profile, fitted_predictor(profile), batch_size)) {
    found.push_back(advice.kind);
  }
  return found;
}

Advice only(const Profile& profile, int batch_size = 16) {
  const auto found = advise(profile, fitted_predictor(profile), batch_size);
  EXPECT_EQ(found.size(), 1U);
  return found.empty() ? Advice{} : found.front();
}

TEST(Advice, IsSilentAboutAHealthyStep) { EXPECT_THAT(kinds(healthy()), IsEmpty()); }

TEST(Advice, SaysWhatWillNotFit) {
  Profile profile = healthy();
  profile.capacity_bytes = 110'000'000;
  const Advice advice = only(profile, 27);
  EXPECT_EQ(advice.kind, AdviceKind::kWillNotFit);
  EXPECT_NEAR(advice.part, 111e6, 1);
  EXPECT_EQ(advice.whole, 110e6);
  EXPECT_EQ(advice.better_batch_size, 26);
  EXPECT_THAT(kinds(profile, 26), IsEmpty());
}

TEST(Advice, BelievesWhatWasTriedMoreThanTheModel) {
  Profile profile = healthy();
  profile.skipped.push_back({20, protocol::FailureKind::kOutOfMemory, ""});
  EXPECT_THAT(kinds(profile, 19), IsEmpty());
  EXPECT_THAT(kinds(profile, 20), ElementsAre(AdviceKind::kWillNotFit));
  profile.skipped.front().kind = protocol::FailureKind::kException;
  EXPECT_THAT(kinds(profile, 20), IsEmpty());
}

TEST(Advice, SaysWhereThroughputSaturates) {
  Profile profile = healthy();
  for (TimeSample& sample : profile.time_samples) {
    const double ms = 5.0 * sample.batch_size + 2;  // 95 % of the maximum at 8
    sample.ms = {ms, ms * 0.999, ms * 1.001};
  }
  EXPECT_THAT(kinds(profile, 15), IsEmpty());
  const Advice advice = only(profile, 32);
  EXPECT_EQ(advice.kind, AdviceKind::kThroughputSaturates);
  EXPECT_EQ(advice.better_batch_size, 8);
  EXPECT_LT(advice.part, advice.whole);
  EXPECT_GT(advice.part, kEnoughThroughput * advice.whole);
}

TEST(Advice, SaysOfASizeThatRanWhatItGave) {
  Profile profile = healthy();
  for (TimeSample& sample : profile.time_samples) {
    const double ms = 5.0 * sample.batch_size + 2;
    sample.ms = {ms, ms * 0.999, ms * 1.001};
  }
  Check check;
  check.time = {6, {31.5, 31.4, 31.6}, 10};  // the model says 32 ms, so that 8 is enough
  check.peak_bytes = 90'000'000;
  profile.checks = {check};
  const Advice advice = only(profile, 32);
  EXPECT_EQ(advice.kind, AdviceKind::kThroughputSaturates);
  EXPECT_EQ(advice.better_batch_size, 6);
  EXPECT_DOUBLE_EQ(advice.part, 1000 * 6 / 31.5);
  EXPECT_DOUBLE_EQ(advice.whole, 1000 * 32 / 162.0);
}

TEST(Advice, SaysThatTheInputStarvesTheStep) {
  Profile profile = healthy();
  profile.iteration.by_phase = {40, 30, 0, 4, 26, 0};
  profile.lines[2].self_by_phase = {0, 0, 0, 0, 26, 4};
  const Advice advice = only(profile);
  EXPECT_EQ(advice.kind, AdviceKind::kInputStarves);
  EXPECT_EQ(advice.location, (Location{"net.py", 12}));
  EXPECT_EQ(advice.part, 26);
  profile.iteration.by_phase[4] = 25;
  EXPECT_THAT(kinds(profile), IsEmpty());
}

TEST(Advice, NamesAHotLine) {
  Profile profile = healthy();
  profile.lines[0].self_ms = 51;
  EXPECT_EQ(only(profile).kind, AdviceKind::kHotLine);
  EXPECT_EQ(only(profile).location, (Location{"net.py", 10}));
  profile.lines[0].self_ms = 50;
  EXPECT_THAT(kinds(profile), IsEmpty());
}

TEST(Advice, SaysThatTheOptimizerDominates) {
  Profile profile = healthy();
  profile.iteration.by_phase = {36, 30, 0, 34, 0, 0};
  EXPECT_EQ(only(profile).kind, AdviceKind::kOptimizerDominates);
  profile.iteration.by_phase[3] = 33;
  EXPECT_THAT(kinds(profile), IsEmpty());
}

TEST(Advice, SaysThatActivationsDominateWhereMemoryIsShort) {
  Profile profile = healthy();
  profile.by_category[static_cast<std::size_t>(Category::kActivations)] = 61'000'000;
  EXPECT_THAT(kinds(profile), IsEmpty());  // nine tenths of the device are free
  profile.capacity_bytes = 150'000'000;
  EXPECT_EQ(only(profile).kind, AdviceKind::kActivationsDominate);
  profile.by_category[static_cast<std::size_t>(Category::kActivations)] = 60'000'000;
  EXPECT_THAT(kinds(profile), IsEmpty());
}

TEST(Advice, SaysThatTheHostIsWhatIsWaitedFor) {
  Profile profile = healthy();
  profile.iteration.between_operations_ms = 34;
  EXPECT_EQ(only(profile).kind, AdviceKind::kHostBound);
  EXPECT_EQ(only(profile).part, 34);
  profile.iteration.between_operations_ms = 33;
  EXPECT_THAT(kinds(profile), IsEmpty());
}

TEST(Advice, NamesGradientsThatAreNeverUsed) {
  Profile profile = healthy();
  profile.unused_gradients = {{{"net.py", 11}, "Net.head.weight", 2, 5'000'000}, {{}, "Net.hidden", 1, 8}};
  const Advice advice = only(profile);
  EXPECT_EQ(advice.kind, AdviceKind::kGradientNeverUsed);
  EXPECT_EQ(advice.location, (Location{"net.py", 11}));
  EXPECT_EQ(advice.parameter, "Net.head.weight");
  EXPECT_EQ(advice.parameters, 2);
  EXPECT_EQ(advice.part, 5'000'000);
}

TEST(Advice, AtAnotherBatchSizeOnlyModelsAreUsed) {
  Profile profile = healthy();
  profile.lines[0].self_ms = 60;
  EXPECT_THAT(kinds(profile, 17), IsEmpty());
}

/// The healthy step on a device that is busy all the time.
Profile healthy_on_device() {
  Profile profile = healthy();
  const double ms = profile.iteration.ms.value;
  profile.device.emplace();
  profile.device->kernel_ms = ms;
  profile.device->waits[static_cast<std::size_t>(Wait::kOverlapped)] = ms;
  for (LineCost& line : profile.lines) {
    line.device.ms = ms / 3;
  }
  return profile;
}

Profile waiting_for(Wait wait, double part) {
  Profile profile = healthy_on_device();
  const double ms = profile.iteration.ms.value;
  profile.device->waits[static_cast<std::size_t>(wait)] = part * ms;
  profile.device->waits[static_cast<std::size_t>(Wait::kOverlapped)] = (1 - part) * ms;
  profile.device->kernel_ms = (1 - part) * ms;
  (wait == Wait::kCopy ? profile.device->copy_ms : profile.device->idle_ms) = part * ms;
  return profile;
}

TEST(Advice, SaysWhereAWiderLayerPays) {
  Profile profile = healthy();
  profile.work.emplace().paddings.push_back({profile.lines[1].location, {"up"}, 63, 64, 20, 1, 0.5, 2});
  EXPECT_THAT(kinds(profile), IsEmpty());  // of 100 ms
  profile.work->paddings[0].saved_ms = 3;
  EXPECT_EQ(only(profile).kind, AdviceKind::kPaddingPays);
  EXPECT_EQ(only(profile).location, profile.lines[1].location);
  ASSERT_TRUE(only(profile).padding.has_value());
  EXPECT_EQ(only(profile).padding->padded, 64);
}

TEST(DeviceAdvice, IsSilentAboutABusyDevice) { EXPECT_THAT(kinds(healthy_on_device()), IsEmpty()); }

TEST(DeviceAdvice, AHotLineIsOneOfTheDevice) {
  Profile profile = healthy_on_device();
  profile.lines[0].self_ms = 0.9 * profile.iteration.ms.value;  // it waits for the device
  EXPECT_THAT(kinds(profile), IsEmpty());
  profile.lines[2].device.ms = 0.6 * profile.iteration.ms.value;
  EXPECT_EQ(only(profile).kind, AdviceKind::kHotLine);
  EXPECT_EQ(only(profile).location, profile.lines[2].location);
}

TEST(DeviceAdvice, SaysWhenTheHostIsLate) {
  EXPECT_THAT(kinds(waiting_for(Wait::kHostBound, 0.3)), IsEmpty());
  EXPECT_EQ(only(waiting_for(Wait::kHostBound, 0.4)).kind, AdviceKind::kHostBound);
  EXPECT_EQ(only(waiting_for(Wait::kIdle, 0.4)).kind, AdviceKind::kHostBound);
}

TEST(DeviceAdvice, AStepThatWaitsForDataIsNotLate) {
  Profile profile = waiting_for(Wait::kIdle, 0.8);
  profile.iteration.by_phase[static_cast<std::size_t>(Phase::kData)] = 0.7 * profile.iteration.ms.value;
  EXPECT_EQ(only(profile).kind, AdviceKind::kInputStarves);
}

TEST(DeviceAdvice, LostKernelsMayBeWhatTheDeviceDid) {
  for (const Wait wait : {Wait::kIdle, Wait::kSync, Wait::kHostBound}) {
    Profile profile = waiting_for(wait, 0.8);
    profile.iteration.by_phase[static_cast<std::size_t>(Phase::kData)] = 0.7 * profile.iteration.ms.value;
    profile.device->lost_share = 0.21;
    EXPECT_THAT(kinds(profile), IsEmpty());
  }
}

TEST(DeviceAdvice, SaysWhereCopiesBlock) {
  Profile profile = waiting_for(Wait::kCopy, 0.2);
  profile.lines[1].device.copy_ms = 5;
  EXPECT_EQ(only(profile).kind, AdviceKind::kCopiesBlock);
  EXPECT_EQ(only(profile).location, profile.lines[1].location);
  EXPECT_THAT(kinds(waiting_for(Wait::kCopy, 0.05)), IsEmpty());
}

TEST(DeviceAdvice, SaysWhoSynchronises) {
  Profile profile = waiting_for(Wait::kSync, 0.2);
  profile.lines[2].device.wait_ms = 5;
  EXPECT_EQ(only(profile).kind, AdviceKind::kSynchronises);
  EXPECT_EQ(only(profile).location, profile.lines[2].location);
}

}  // namespace
}  // namespace ridgeline::analysis
