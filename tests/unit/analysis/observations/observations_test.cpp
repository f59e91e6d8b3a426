// Which observations profiles make true: each rule on a profile where it holds and on one where it does not.
#include "analysis/observations/observations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::analysis {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// 100 ms at batch 16, always in operations; bytes of weights alone.
Profile plain_profile() {
  Profile profile;
  profile.batch_size = 16;
  profile.iteration.ms = {100, 99, 101};
  profile.peak_bytes = 1000;
  profile.by_category.at(static_cast<std::size_t>(Category::kWeights)) = 1000;
  return profile;
}

void add_sample(Profile& profile, int batch_size, double ms) {
  TimeSample sample;
  sample.batch_size = batch_size;
  sample.ms = {ms, ms * 0.99, ms * 1.01};
  profile.time_samples.push_back(sample);
}

void add_module(Profile& profile, const char* type, double ms) {
  Node node;
  node.type = type;
  node.ms = ms;
  profile.breakdown.children.push_back(node);
}

/// `ms` on a line, of which `peak_ms` would do at the peak.
void add_line(Profile& profile, std::uint32_t line, const char* key, double ms, double peak_ms) {
  if (!profile.work) {
    profile.work.emplace().device.emplace();
    profile.work->model_flop_utilisation = 0.4;
  }
  WorkCost work;
  work.ms = ms;
  work.matrix_peak_ms = peak_ms;
  work.matrix_flops = peak_ms;
  profile.work->total.ms += ms;
  profile.work->total.matrix_peak_ms += peak_ms;
  profile.work->lines.push_back({{"net.py", line}, work, {{key, work}}});
}

Observation observed(const Profile& profile, int number, const Outlook& outlook = {}) {
  const auto all = observe(profile, outlook);
  EXPECT_EQ(all.size(), 12U);
  const Observation& one = all.at(static_cast<std::size_t>(number) - 1);
  EXPECT_EQ(one.number, number);
  EXPECT_EQ(one.figures.empty(), one.verdict == Verdict::kUnknown || one.verdict == Verdict::kNotApplicable);
  EXPECT_EQ(one.reason.empty(), !one.figures.empty());
  return one;
}

Verdict verdict(const Profile& profile, int number, const Outlook& outlook = {}) {
  return observed(profile, number, outlook).verdict;
}

Profile with_samples(double small_ms, double large_ms) {
  Profile profile = plain_profile();
  add_sample(profile, 16, small_ms);
  add_sample(profile, 64, large_ms);
  return profile;
}

TEST(Observations, ThroughputGrows) {
  EXPECT_EQ(verdict(with_samples(100, 200), 1), Verdict::kHolds);
  EXPECT_EQ(verdict(with_samples(100, 440), 1), Verdict::kDoesNotHold);
  EXPECT_EQ(verdict(with_samples(100, 392), 1), Verdict::kUnknown) << "within the noise";
  EXPECT_EQ(verdict(plain_profile(), 1), Verdict::kUnknown);
  EXPECT_DOUBLE_EQ(observed(with_samples(100, 200), 1).figures.at(1).value, 320);
}

TEST(Observations, ThroughputIsNotSaturated) {
  Profile profile = with_samples(100, 200);
  profile.max_samples_per_second = 640;
  EXPECT_EQ(verdict(profile, 2), Verdict::kHolds);
  profile.max_samples_per_second = 330;
  EXPECT_EQ(verdict(profile, 2), Verdict::kDoesNotHold);
}

TEST(Observations, TheBatchKeepsTheDeviceBusy) {
  Profile profile = plain_profile();
  EXPECT_EQ(verdict(profile, 4), Verdict::kHolds);
  profile.iteration.between_operations_ms = 30;
  EXPECT_EQ(verdict(profile, 4), Verdict::kDoesNotHold);
  profile.device.emplace().idle_ms = 5;
  EXPECT_EQ(verdict(profile, 4), Verdict::kHolds) << "of a device, its own time counts";
}

TEST(Observations, WhatHelpsAnIdleDeviceIsWhatItWaitsFor) {
  Profile profile = plain_profile();
  profile.device.emplace().idle_ms = 90;
  EXPECT_THAT(observed(profile, 4).consequence, HasSubstr("a larger batch"));
  profile.device->pauses_ms = 50;
  EXPECT_THAT(observed(profile, 4).consequence, AllOf(HasSubstr("what it waits for"), Not(HasSubstr("batch"))));
  profile.iteration.by_phase[static_cast<std::size_t>(Phase::kData)] = 60;
  EXPECT_THAT(observed(profile, 4).consequence, AllOf(HasSubstr("loader"), Not(HasSubstr("batch"))));
}

TEST(Observations, LostKernelsLeaveOpenWhetherTheDeviceIsIdle) {
  Profile profile = plain_profile();
  add_module(profile, "LSTM", 60);
  profile.device.emplace().idle_ms = 90;
  profile.device->lost_share = 0.21;
  EXPECT_EQ(verdict(profile, 4), Verdict::kUnknown);
  EXPECT_EQ(verdict(profile, 5), Verdict::kUnknown);
}

TEST(Observations, RecurrentLayersLeaveTheDeviceIdle) {
  Profile profile = plain_profile();
  profile.iteration.between_operations_ms = 30;
  EXPECT_EQ(verdict(profile, 5), Verdict::kNotApplicable);
  add_module(profile, "LSTM", 60);
  EXPECT_EQ(verdict(profile, 5), Verdict::kHolds);
  profile.iteration.between_operations_ms = 3;
  EXPECT_EQ(verdict(profile, 5), Verdict::kDoesNotHold);
}

TEST(Observations, ALargerBatchUsesMoreOfThePeak) {
  EXPECT_EQ(verdict(with_samples(100, 200), 6), Verdict::kUnknown) << "nothing was compared with a device";
  Profile grows = with_samples(100, 200);
  add_line(grows, 1, "mm", 80, 40);
  EXPECT_EQ(verdict(grows, 6), Verdict::kHolds);
  EXPECT_NEAR(observed(grows, 6).figures.at(0).value, 0.4, 1e-9);
  EXPECT_NEAR(observed(grows, 6).figures.at(1).value, 0.8, 1e-9);
  Profile stays = with_samples(100, 440);
  add_line(stays, 1, "mm", 80, 40);
  EXPECT_EQ(verdict(stays, 6), Verdict::kDoesNotHold);
}

TEST(Observations, RecurrentLayersUseLessOfThePeak) {
  const auto profile_with = [](double recurrent_peak_ms) {
    Profile profile = plain_profile();
    add_module(profile, "LSTM", 60);
    profile.breakdown.children.back().location = {"net.py", 2};
    profile.breakdown.children.back().callers = {{{"net.py", 2}, 40}, {{"net.py", 3}, 20}};
    add_line(profile, 1, "mm", 20, 10);
    add_line(profile, 2, "mkldnn_rnn_layer", 40, recurrent_peak_ms / 2);
    add_line(profile, 3, "mm", 20, recurrent_peak_ms / 2);  // of a cell that is not one operation
    return profile;
  };
  EXPECT_EQ(verdict(profile_with(6), 7), Verdict::kHolds);
  EXPECT_EQ(verdict(profile_with(45), 7), Verdict::kDoesNotHold);
  EXPECT_EQ(verdict(profile_with(28), 7), Verdict::kUnknown) << "47 % and 50 %: noise may decide";
  EXPECT_DOUBLE_EQ(observed(profile_with(6), 7).figures.at(0).value, 0.1);
  EXPECT_EQ(verdict(plain_profile(), 7), Verdict::kNotApplicable);
}

TEST(Observations, SomeLinesUseLittleOfThePeak) {
  Profile profile = plain_profile();
  add_line(profile, 1, "mm", 60, 40);
  EXPECT_EQ(verdict(profile, 8), Verdict::kDoesNotHold);
  add_line(profile, 2, "batch_norm", 4, 0);
  EXPECT_EQ(verdict(profile, 8), Verdict::kDoesNotHold) << "it is short";
  add_line(profile, 3, "batch_norm", 30, 0);
  const Observation holds = observed(profile, 8);
  EXPECT_EQ(holds.verdict, Verdict::kHolds);
  EXPECT_EQ(holds.location, (Location{"net.py", 3}));
}

TEST(Observations, ActivationsTakeMost) {
  Profile profile = plain_profile();
  EXPECT_EQ(verdict(profile, 10), Verdict::kDoesNotHold);
  profile.by_category.at(static_cast<std::size_t>(Category::kActivations)) = 3000;
  profile.peak_bytes = 4000;
  EXPECT_EQ(verdict(profile, 10), Verdict::kHolds);
  EXPECT_DOUBLE_EQ(observed(profile, 10).figures.at(0).value, 0.75);
  profile.peak_known = false;
  EXPECT_EQ(verdict(profile, 10), Verdict::kUnknown);
}

TEST(Observations, FillingTheMemoryBringsLittle) {
  Outlook outlook;
  EXPECT_EQ(verdict(plain_profile(), 11, outlook), Verdict::kUnknown);
  outlook.enough.batch.emplace().batch_size = 64;
  outlook.fits.batch.emplace().batch_size = 1000;
  EXPECT_EQ(verdict(plain_profile(), 11, outlook), Verdict::kHolds);
  outlook.fits.batch->batch_size = 100;
  EXPECT_EQ(verdict(plain_profile(), 11, outlook), Verdict::kDoesNotHold);
}

TEST(Observations, OneProfileComparesNoFrameworksDevicesOrNetworks) {
  for (const int number : {3, 9, 12}) {
    EXPECT_EQ(verdict(plain_profile(), number), Verdict::kNotApplicable);
  }
}

}  // namespace
}  // namespace ridgeline::analysis
