#include "analysis/device/device_timeline.h"

#include <gmock/gmock.h>

#include "analysis/breakdown/device_time.h"
#include "tests/unit/analysis/analysed.h"

namespace ridgeline::analysis {
namespace {

using recording::Activity;
using recording::Call;
using testing::Analysed;
using ::testing::DoubleNear;
using testing::find_node;
using testing::kEngine;
using testing::kMs;
using testing::kNone;
using testing::RecordingBuilder;
using testing::Scope;

double wait_ms(const DeviceTime& time, Wait wait) { return time.waits[static_cast<std::size_t>(wait)]; }

DeviceTime time_of(const Analysed& analysed) {
  return device_time(analysed.parts, analysed.timeline.recorded_ns / 1e6);
}

TEST(DeviceTimeline, IsAbsentWithoutActivities) {
  RecordingBuilder builder;
  builder.iteration(0, kMs);
  builder.call({Call::kOther, 0, 10});
  EXPECT_FALSE(Analysed(builder).device.has_value());
}

TEST(DeviceTimeline, GivesAKernelToTheLineThatLaunchedIt) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto stack = builder.at("model.py", 5);
  const auto op = builder.op({"aten::mm", stack, 0, kMs});
  const auto launch = builder.call({Call::kLaunch, 0, kMs / 2, op});
  builder.activity({"gemm", 2 * kMs, 6 * kMs, launch});
  const Analysed analysed(builder);
  EXPECT_DOUBLE_EQ(analysed.line("model.py:5")->device.ms, 4);
  EXPECT_DOUBLE_EQ(analysed.line("model.py:5")->device.by_phase[static_cast<std::size_t>(Phase::kForward)], 4);
  EXPECT_DOUBLE_EQ(analysed.breakdown.device_ms, 4);
  EXPECT_DOUBLE_EQ(find_node(analysed.breakdown, "mm")->device_ms, 4);
}

TEST(DeviceTimeline, GivesABackwardKernelToTheForwardLine) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto forward = builder.stack({{"train.py", "step", 3}, {"model.py", "forward", 5}});
  builder.op({"aten::a", forward, 0, kMs, kNone, Scope::kFunction, 5});
  const auto node = builder.backward("ABackward0", builder.stack({{"train.py", "step", 7}, kEngine}), kMs, 2 * kMs, 5);
  builder.activity({"grad", 2 * kMs, 5 * kMs, builder.call({Call::kLaunch, kMs, kMs + 10, node})});
  const Analysed analysed(builder);
  EXPECT_DOUBLE_EQ(analysed.line("model.py:5")->device.by_phase[static_cast<std::size_t>(Phase::kBackward)], 3);
  EXPECT_DOUBLE_EQ(analysed.line("train.py:3")->device.total_ms, 3) << "it called forward";
  EXPECT_DOUBLE_EQ(analysed.line("train.py:7")->device.total_ms, 3) << "it called backward";
  EXPECT_DOUBLE_EQ(analysed.line("train.py:7")->device.ms, 0);
}

TEST(DeviceTimeline, SharesWhatRunsAtOnceEqually) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto first = builder.call({Call::kLaunch, 0, 10, kNone, builder.at("a.py", 1)});
  const auto second = builder.call({Call::kLaunch, 20, 30, kNone, builder.at("a.py", 2)});
  builder.activity({"one", 1 * kMs, 5 * kMs, first}).activity({"two", 3 * kMs, 7 * kMs, second});
  const Analysed analysed(builder);
  EXPECT_DOUBLE_EQ(analysed.line("a.py:1")->device.ms, 3);
  EXPECT_DOUBLE_EQ(analysed.line("a.py:2")->device.ms, 3);
  EXPECT_DOUBLE_EQ(time_of(analysed).kernel_ms, 6);
  EXPECT_DOUBLE_EQ(time_of(analysed).kernels[0].ms, 4) << "the table has whole durations";
}

TEST(DeviceTimeline, CountsOfACopyOnlyWhatNoKernelHides) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto launch = builder.call({Call::kLaunch, 0, 10, kNone, builder.at("a.py", 1)});
  const auto copy = builder.call({Call::kCopy, 20, 30, kNone, builder.at("a.py", 2)});
  builder.activity({"memcpy", 1 * kMs, 5 * kMs, copy, Activity::kHostToDevice})
      .activity({"k", 2 * kMs, 4 * kMs, launch});
  const Analysed analysed(builder);
  EXPECT_DOUBLE_EQ(analysed.line("a.py:1")->device.ms, 2);
  EXPECT_DOUBLE_EQ(analysed.line("a.py:2")->device.ms, 2);
  EXPECT_DOUBLE_EQ(analysed.line("a.py:2")->device.copy_ms, 2);
  EXPECT_DOUBLE_EQ(time_of(analysed).copy_ms, 2);
  EXPECT_DOUBLE_EQ(time_of(analysed).idle_ms, 6);
}

TEST(DeviceTimeline, CutsWhatLiesOutsideOfTheIteration) {
  RecordingBuilder builder;
  builder.iteration(10 * kMs, 20 * kMs);
  const auto launch = builder.call({Call::kLaunch, 0, 10, kNone, builder.at("a.py", 1)});
  builder.activity({"before", 8 * kMs, 12 * kMs, launch}).activity({"after", 19 * kMs, 29 * kMs, launch});
  const Analysed analysed(builder);
  EXPECT_DOUBLE_EQ(analysed.line("a.py:1")->device.ms, 3);
  ASSERT_EQ(time_of(analysed).kernels.size(), 1U) << "the first was launched for the iteration before";
  EXPECT_EQ(time_of(analysed).kernels[0].name, "after");
}

TEST(DeviceTimeline, NamesWhatNoCallAskedFor) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.activity({"k", 0, 4 * kMs, kNone});
  const Analysed analysed(builder);
  const auto found =
      std::ranges::find(analysed.lines.other, "device work that no known call asked for", &OtherCost::name);
  ASSERT_NE(found, analysed.lines.other.end());
  EXPECT_DOUBLE_EQ(found->device_ms, 4);
  EXPECT_DOUBLE_EQ(analysed.breakdown.device_ms, 4);
}

TEST(DeviceTimeline, LooksAtTheDeviceWithMostActivities) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.activity({"a", 0, kMs, kNone, Activity::kKernel, 0})
      .activity({"b", 0, 2 * kMs, kNone, Activity::kKernel, 3})
      .activity({"b", 3 * kMs, 4 * kMs, kNone, Activity::kKernel, 3});
  const Analysed analysed(builder);
  EXPECT_EQ(analysed.device->timeline.device, 3U);
  EXPECT_EQ(analysed.device->timeline.other_devices, 1);
  EXPECT_DOUBLE_EQ(time_of(analysed).kernel_ms, 3);
}

TEST(DeviceTimeline, TellsKernelsByName) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto first = builder.call({Call::kLaunch, 0, 10, kNone, builder.at("a.py", 1)});
  const auto second = builder.call({Call::kLaunch, 20, 30, kNone, builder.at("a.py", 2)});
  builder.activity({"gemm", 1 * kMs, 2 * kMs, first}).activity({"gemm", 3 * kMs, 6 * kMs, second});
  builder.activity({"relu", 7 * kMs, 8 * kMs, second});
  const DeviceTime time = time_of(Analysed(builder));
  ASSERT_EQ(time.kernels.size(), 2U);
  EXPECT_EQ(time.kernels[0].name, "gemm");
  EXPECT_DOUBLE_EQ(time.kernels[0].launches, 2);
  EXPECT_DOUBLE_EQ(time.kernels[0].ms, 4);
  EXPECT_DOUBLE_EQ(time.kernels[0].mean_ms, 2);
  EXPECT_DOUBLE_EQ(time.kernels[0].max_ms, 3);
  EXPECT_EQ(time.kernels[0].location, (Location{"a.py", 2}));
  EXPECT_DOUBLE_EQ(time.kernels[0].line_ms, 3);
  EXPECT_DOUBLE_EQ(time.launches, 3);
}

TEST(DeviceWaits, TellWhoWaitsForWhom) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto stack = builder.at("a.py", 1);
  const auto range = builder.op({"ProfilerStep#1", 0, 0, 10 * kMs, kNone, Scope::kUser});
  const auto op = builder.op({"aten::mm", stack, 1 * kMs, 3 * kMs, range});
  const auto item = builder.op({"aten::item", stack, 4 * kMs, 8 * kMs, range});
  const auto launch = builder.call({Call::kLaunch, 1 * kMs, 2 * kMs, op});
  builder.call({Call::kSynchronise, 5 * kMs, 8 * kMs, item});
  builder.activity({"k", 2 * kMs, 6 * kMs, launch});
  builder.activity({"copy", 6 * kMs, 7 * kMs, launch, Activity::kDeviceToHost});
  const Analysed analysed(builder);
  const DeviceTime time = time_of(analysed);
  EXPECT_DOUBLE_EQ(wait_ms(time, Wait::kHostBound), 1);    // 1 to 2: the op runs
  EXPECT_DOUBLE_EQ(wait_ms(time, Wait::kOverlapped), 3);   // 2 to 5
  EXPECT_DOUBLE_EQ(wait_ms(time, Wait::kDeviceBound), 1);  // 5 to 6
  EXPECT_DOUBLE_EQ(wait_ms(time, Wait::kCopy), 1);
  EXPECT_DOUBLE_EQ(wait_ms(time, Wait::kSync), 1);  // 7 to 8
  EXPECT_DOUBLE_EQ(wait_ms(time, Wait::kIdle), 3);
  EXPECT_DOUBLE_EQ(analysed.line("a.py:1")->device.wait_ms, 3);
}

TEST(DeviceWaits, TheHostWorksWhileAnyThreadDoes) {
  RecordingBuilder builder;
  builder.columns.thread_torch_id.push_back(2);
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::mm", 0, 4 * kMs, 6 * kMs, kNone, Scope::kFunction, -1, 0, 1});
  builder.call({Call::kSynchronise, 0, 10 * kMs});
  builder.activity({"k", 0, 10 * kMs});
  const DeviceTime time = time_of(Analysed(builder));
  EXPECT_DOUBLE_EQ(wait_ms(time, Wait::kDeviceBound), 8);
  EXPECT_DOUBLE_EQ(wait_ms(time, Wait::kOverlapped), 2);
}

TEST(DeviceTime, IsRealTimeUnlessItDoesNotFitIntoTheIteration) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.activity({"k", 0, 8 * kMs});
  const Analysed analysed(builder);
  const auto shown = [&](double bare_ms) {
    const DeviceParts parts = *analyse_device(analysed.recording, analysed.attribution, analysed.tree, bare_ms * kMs);
    BreakdownInput input = analysed.parts;
    input.device = &parts;
    return device_time(input, bare_ms);
  };
  EXPECT_DOUBLE_EQ(shown(9).kernel_ms, 8);
  EXPECT_DOUBLE_EQ(shown(9).idle_ms, 1);
  EXPECT_DOUBLE_EQ(wait_ms(shown(9), Wait::kIdle), 1);
  EXPECT_DOUBLE_EQ(shown(9).scale, 1);
  EXPECT_DOUBLE_EQ(shown(4).kernel_ms, 4);
  EXPECT_DOUBLE_EQ(shown(4).idle_ms, 0);
  EXPECT_DOUBLE_EQ(shown(4).scale, 0.5);
}

TEST(DeviceTime, TellsWhatTheAllocatorReserved) {
  RecordingBuilder builder;
  builder.iteration(100, 200);
  builder.activity({"k", 100, 110});
  for (const auto& [time, reserved] : {std::pair{10, 9000}, {50, 2000}, {120, 6000}, {130, 4000}, {300, 8000}}) {
    builder.allocate({static_cast<std::uint64_t>(time), static_cast<std::uint64_t>(time), 1});
    builder.columns.memory_reserved.back() = static_cast<std::uint64_t>(reserved);
  }
  EXPECT_EQ(time_of(Analysed(builder)).peak_reserved_bytes, 6000U);
}

}  // namespace
}  // namespace ridgeline::analysis
