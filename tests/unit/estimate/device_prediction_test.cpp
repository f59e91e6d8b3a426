#include "estimate/device_prediction.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hardware/data_sheets.h"

namespace ridgeline::estimate {
namespace {

const std::string kMatrix =
    R"(["aten::mm.default",["t:float32:4096,4096:4096,1:cuda","t:float32:4096,4096:4096,1:cuda"],{}])";
const std::string kUnknown = R"(["mine::op.default",["t:float32:4:1:cuda"],{}])";

operations::ListedTime timed(double low, double ns, double high) {
  return {{"a device", 1, "2"}, {.key = kMatrix, .ns = ns, .low = low, .high = high, .samples = 3}, 1, ""};
}

TEST(StepOnDevice, AddsUpMeasuredTimes) {
  const ListedStep step{.batch_size = 8, .operations = {CountedOperation(kMatrix, 3)}, .peak_bytes = 1'000};
  const StepOnDevice found = step_on_device(step, *hardware::find_data_sheet("T4"), {{timed(9e6, 10e6, 12e6)}}, {});
  ASSERT_TRUE(found.ns.has_value());
  EXPECT_EQ(*found.ns, 30e6);
  EXPECT_EQ(found.low_ns, 27e6);
  EXPECT_EQ(*found.high_ns, 36e6);
  EXPECT_EQ(found.sources.measured, 3);
  EXPECT_EQ(found.fits, true);
}

/// 2 · 4096³ FLOP at 8.1 TFLOP/s.
TEST(StepOnDevice, OfADeviceWithoutDataIsABound) {
  const ListedStep step{.batch_size = 8, .operations = {CountedOperation(kMatrix)}, .peak_bytes = 17'000'000'000};
  const StepOnDevice found = step_on_device(step, *hardware::find_data_sheet("T4"), {{std::nullopt}}, {});
  EXPECT_FALSE(found.ns.has_value());
  EXPECT_FALSE(found.high_ns.has_value());
  EXPECT_NEAR(found.low_ns, 2.0 * 4096 * 4096 * 4096 / 8.1e12 * 1e9, 1);
  EXPECT_EQ(found.sources.bounded, 1);
  EXPECT_EQ(found.fits, false);
}

TEST(StepOnDevice, IsNoEstimateWhereOperationsAreNotModelled) {
  const ListedStep step{.operations = {CountedOperation(kMatrix), CountedOperation(kUnknown)}};
  const StepOnDevice found =
      step_on_device(step, *hardware::find_data_sheet("T4"), {{timed(9e6, 10e6, 12e6), std::nullopt}}, {});
  EXPECT_FALSE(found.ns.has_value());
  EXPECT_EQ(found.sources.unknown, 1);
  EXPECT_EQ(found.low_ns, 9e6);
}

const std::string kAdd =
    R"(["aten::add.Tensor",["t:float32:8192,8192:8192,1:cuda","t:float32:8192,8192:8192,1:cuda"],{}])";

/// P100's memory has 732 GB/s, T4's 320: the operation is bound by it.
TEST(StepOnDevice, ScalesTimesOfTheSameKernelOnTheMostAlikeDevice) {
  const auto t4 = *hardware::find_data_sheet("T4");
  const auto p100 = *hardware::find_data_sheet("P100");
  const auto a100 = *hardware::find_data_sheet("A100");
  const ListedStep step{.operations = {CountedOperation(kAdd, 2)}};
  const KnownOfStep known{{std::nullopt}, {{{&a100, 1e6}, {&p100, 1.2e6}}}};
  const StepOnDevice found = step_on_device(step, t4, known, {});
  ASSERT_TRUE(found.ns.has_value());
  EXPECT_NEAR(*found.ns, 2 * 1.2e6 * 732 / 320, 0.02 * *found.ns);
  EXPECT_GT(found.low_ns, 0.79 * *found.ns);
  EXPECT_NEAR(*found.high_ns, 1.25 * *found.ns, 1);
  EXPECT_EQ(found.sources.scaled, 2);
}

TEST(StepOnDevice, ScalesNoProductsAndNothingThatCachesHold) {
  const auto t4 = *hardware::find_data_sheet("T4");
  const auto a100 = *hardware::find_data_sheet("A100");  // 40 MiB of L2
  const std::string small =
      R"(["aten::add.Tensor",["t:float32:1024,1024:1024,1:cuda","t:float32:1024,1024:1024,1:cuda"],{}])";
  const TimeElsewhere elsewhere{&a100, 1e6};
  for (const std::string& key : {kMatrix, small}) {
    EXPECT_FALSE(scaled_time(*hardware::work_of(key), t4, {&elsewhere, 1}).has_value()) << key;
  }
  const auto mi210 = *hardware::find_data_sheet("MI210");  // another vendor's kernels
  EXPECT_FALSE(scaled_time(*hardware::work_of(kAdd), mi210, {&elsewhere, 1}).has_value());
}

/// A wrong time elsewhere is no time that cannot be.
TEST(StepOnDevice, ScalesToNoLessThanTheRoofline) {
  const auto t4 = *hardware::find_data_sheet("T4");
  const auto a100 = *hardware::find_data_sheet("A100");
  const TimeElsewhere elsewhere{&a100, 1};
  const auto scaled = scaled_time(*hardware::work_of(kAdd), t4, {&elsewhere, 1});
  ASSERT_TRUE(scaled.has_value());
  EXPECT_GT(scaled->low, 8192.0 * 8192 * 12 / 321e9 * 1e9 * 0.99);
}

}  // namespace
}  // namespace ridgeline::estimate
