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
  const ListedStep step{.batch_size = 8, .operations = {{kMatrix, 3}}, .peak_bytes = 1'000};
  const std::vector<std::optional<operations::ListedTime>> measured = {timed(9e6, 10e6, 12e6)};
  const StepOnDevice found = step_on_device(step, *hardware::find_data_sheet("T4"), measured, {});
  ASSERT_TRUE(found.ns.has_value());
  EXPECT_EQ(*found.ns, 30e6);
  EXPECT_EQ(found.low_ns, 27e6);
  EXPECT_EQ(*found.high_ns, 36e6);
  EXPECT_EQ(found.sources.measured, 3);
  EXPECT_EQ(found.fits, true);
}

/// 2 · 4096³ FLOP at 8.1 TFLOP/s.
TEST(StepOnDevice, OfADeviceWithoutDataIsABound) {
  const ListedStep step{.batch_size = 8, .operations = {{kMatrix, 1}}, .peak_bytes = 17'000'000'000};
  const StepOnDevice found =
      step_on_device(step, *hardware::find_data_sheet("T4"), std::vector<std::optional<operations::ListedTime>>(1), {});
  EXPECT_FALSE(found.ns.has_value());
  EXPECT_FALSE(found.high_ns.has_value());
  EXPECT_NEAR(found.low_ns, 2.0 * 4096 * 4096 * 4096 / 8.1e12 * 1e9, 1);
  EXPECT_EQ(found.sources.bounded, 1);
  EXPECT_EQ(found.fits, false);
}

TEST(StepOnDevice, IsNoEstimateWhereOperationsAreNotModelled) {
  const ListedStep step{.operations = {{kMatrix, 1}, {kUnknown, 1}}};
  const std::vector<std::optional<operations::ListedTime>> measured = {timed(9e6, 10e6, 12e6), std::nullopt};
  const StepOnDevice found = step_on_device(step, *hardware::find_data_sheet("T4"), measured, {});
  EXPECT_FALSE(found.ns.has_value());
  EXPECT_EQ(found.sources.unknown, 1);
  EXPECT_EQ(found.low_ns, 9e6);
}

}  // namespace
}  // namespace ridgeline::estimate
