#include "operations/estimators/device_prediction.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "operations/device/data_sheets.h"

namespace ridgeline::operations {
namespace {

const std::string kMatrix =
    R"(["aten::mm.default",["t:float32:4096,4096:4096,1:cuda","t:float32:4096,4096:4096,1:cuda"],{}])";
const std::string kUnknown = R"(["mine::op.default",["t:float32:4:1:cuda"],{}])";

ListedTime timed(double low, double ns, double high) {
  return {{"a device", 1, "2"}, {.key = kMatrix, .ns = ns, .low = low, .high = high, .samples = 3}, 1, ""};
}

TEST(StepOnDevice, AddsUpMeasuredTimes) {
  const ListedStep step{.batch_size = 8, .operations = {CountedOperation(kMatrix, 3)}, .peak_bytes = 1'000};
  const StepOnDevice found = step_on_device(step, *find_data_sheet("T4"), {{timed(9e6, 10e6, 12e6)}}, {});
  ASSERT_TRUE(found.ns.has_value());
  EXPECT_EQ(*found.ns, 30e6);
  EXPECT_EQ(found.low_ns, 27e6);
  EXPECT_EQ(*found.high_ns, 36e6);
  EXPECT_EQ(found.sources.measured, 3);
  EXPECT_EQ(found.fits, true);
}

TEST(StepOnDevice, FitsWhereAllThatItMayHoldDoes) {
  const auto fits = [](double low, double high) {
    const ListedStep step{.operations = {}, .peak_bytes = 1'000, .held = HeldBytes{low, high}};
    return step_on_device(step, *find_data_sheet("T4"), {}, {}).fits;
  };
  EXPECT_EQ(fits(10e9, 15e9), true);
  EXPECT_EQ(fits(15e9, 17e9), std::nullopt);
  EXPECT_EQ(fits(17e9, 20e9), false);
}

/// 2 · 4096³ FLOP at 8.1 TFLOP/s.
TEST(StepOnDevice, ADeviceWithoutDataHasABound) {
  const ListedStep step{.batch_size = 8, .operations = {CountedOperation(kMatrix)}, .peak_bytes = 17'000'000'000};
  const StepOnDevice found = step_on_device(step, *find_data_sheet("T4"), {{std::nullopt}}, {});
  EXPECT_FALSE(found.ns.has_value());
  EXPECT_FALSE(found.high_ns.has_value());
  EXPECT_NEAR(found.low_ns, 2.0 * 4096 * 4096 * 4096 / 8.1e12 * 1e9, 1);
  EXPECT_EQ(found.sources.bounded, 1);
  EXPECT_EQ(found.fits, false);
}

TEST(StepOnDevice, IsNoEstimateWhereOperationsAreNotModelled) {
  const ListedStep step{.operations = {CountedOperation(kMatrix), CountedOperation(kUnknown)}};
  const StepOnDevice found = step_on_device(step, *find_data_sheet("T4"), {{timed(9e6, 10e6, 12e6), std::nullopt}}, {});
  EXPECT_FALSE(found.ns.has_value());
  EXPECT_EQ(found.sources.unknown, 1);
  EXPECT_EQ(found.low_ns, 9e6);
}

const std::string kAdd =
    R"(["aten::add.Tensor",["t:float32:8192,8192:8192,1:cuda","t:float32:8192,8192:8192,1:cuda"],{}])";

/// P100's memory has 732 GB/s, T4's 320: the operation is bound by it.
TEST(StepOnDevice, ScalesTimesOfTheSameKernelOnTheMostAlikeDevice) {
  const auto t4 = *find_data_sheet("T4");
  const auto p100 = *find_data_sheet("P100");
  const auto a100 = *find_data_sheet("A100");
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
  const auto t4 = *find_data_sheet("T4");
  const auto a100 = *find_data_sheet("A100");  // 40 MiB of L2
  const std::string small =
      R"(["aten::add.Tensor",["t:float32:1024,1024:1024,1:cuda","t:float32:1024,1024:1024,1:cuda"],{}])";
  const TimeElsewhere elsewhere{&a100, 1e6};
  for (const std::string& key : {kMatrix, small}) {
    EXPECT_FALSE(scaled_time(*work_of(key), t4, {&elsewhere, 1}).has_value()) << key;
  }
  const auto mi210 = *find_data_sheet("MI210");  // another vendor's kernels
  EXPECT_FALSE(scaled_time(*work_of(kAdd), mi210, {&elsewhere, 1}).has_value());
}

/// 2 · 4096³ FLOP: 9.8 ms at the 14 TFLOP/s of V100, 7.0 ms at the 19.5 of A100, 2.1 ms at the 66.9 of H100.
TEST(ScaledProduct, GoesByTheRooflinesOfBoth) {
  const auto a100 = *find_data_sheet("A100");
  const auto h100 = *find_data_sheet("H100");
  const auto call = *parse_call(kMatrix);
  const TimeElsewhere elsewhere{&a100, 8e6};
  const auto found = scaled_product(call, h100, {&elsewhere, 1});
  ASSERT_TRUE(found.has_value());
  const double flops = 2.0 * 4096 * 4096 * 4096;
  const double peak = find_peak(h100, "float32")->flop_per_s.all.value;
  EXPECT_NEAR(found->ns, 8e6 * 19.5e12 / peak, 0.01 * found->ns);
  EXPECT_NEAR(found->low, flops / peak * 1e9, 0.001 * found->low) << "no run is faster than the peak";
  EXPECT_NEAR(found->high, 3.8 * found->ns, 1);
}

TEST(ScaledProduct, BeginsAtTensorCoresWhereTheProgramMayAllowThem) {
  const auto v100 = *find_data_sheet("V100");
  const auto a100 = *find_data_sheet("A100");
  const TimeElsewhere elsewhere{&v100, 12e6};
  const auto found = scaled_product(*parse_call(kMatrix), a100, {&elsewhere, 1});
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->low, 2.0 * 4096 * 4096 * 4096 / 156e12 * 1e9, 0.01 * found->low);
}

TEST(ScaledProduct, IsNothingWhereItWasNotTested) {
  const auto a100 = *find_data_sheet("A100");
  const auto h100 = *find_data_sheet("H100");
  const auto scaled = [&](const std::string& key, double ns, const Device& to) {
    const TimeElsewhere elsewhere{&a100, ns};
    return scaled_product(*parse_call(key), to, {&elsewhere, 1}).has_value();
  };
  EXPECT_TRUE(scaled(kMatrix, 8e6, h100));
  EXPECT_FALSE(scaled(kMatrix, 1e6, h100)) << "tensor cores computed it";
  EXPECT_FALSE(scaled(kMatrix, 20e6, h100)) << "less than half of the roofline";
  EXPECT_FALSE(scaled(kMatrix, 8e6, *find_data_sheet("L4"))) << "short of power";
  EXPECT_FALSE(scaled(kMatrix, 8e6, *find_data_sheet("MI210")));
  const std::string thin = R"(["aten::mm.default",["t:float32:4096,8:8,1:cuda","t:float32:8,4096:4096,1:cuda"],{}])";
  EXPECT_FALSE(scaled(thin, 5e4, h100)) << "bound by memory";
  const std::string half =
      R"(["aten::mm.default",["t:float16:4096,4096:4096,1:cuda","t:float16:4096,4096:4096,1:cuda"],{}])";
  EXPECT_FALSE(scaled(half, 6e5, h100));
  std::string brain = half;
  for (std::size_t at = brain.find("float16"); at != std::string::npos; at = brain.find("float16", at + 8)) {
    brain.replace(at, 7, "bfloat16");
  }
  EXPECT_TRUE(scaled(brain, 6e5, h100));
}

std::string convolution(const std::string& stride) {
  return R"(["aten::convolution.default",["t:float32:32,256,28,28:200704,784,28,1:cuda",)"
         R"("t:float32:256,256,3,3:2304,9,3,1:cuda",null,)" +
         stride + ",[1,1],[1,1],false,[0,0],1],{}]";
}

/// 2 · 32 · 256 · 28² · 256 · 9 = 29.6 GFLOP: 3.1 ms at the 9.52 TFLOP/s of P100, 2.1 ms at the 14 of V100. Winograd's
/// algorithm needs fewer.
TEST(ScaledProduct, AConvolutionMayBeFasterThanItsDirectFlopsAllow) {
  const auto p100 = *find_data_sheet("P100-PCIE");
  const auto v100 = *find_data_sheet("V100-PCIE");
  const auto scaled = [&](const std::string& key, double ns, const Device& to) {
    const TimeElsewhere elsewhere{&p100, ns};
    return scaled_product(*parse_call(key), to, {&elsewhere, 1});
  };
  const auto found = scaled(convolution("[1,1]"), 2e6, v100);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->ns, 2e6 * 9.52 / 14, 0.001 * found->ns);
  EXPECT_NEAR(found->low, 0.55 * found->ns, 1);
  EXPECT_NEAR(found->high, 2.6 * found->ns, 1);
  const auto with_stride = scaled(convolution("[2,2]"), 5e5, v100);
  ASSERT_TRUE(with_stride.has_value());
  EXPECT_NEAR(with_stride->high, 6 * with_stride->ns, 1);
  EXPECT_FALSE(scaled(convolution("[1,1]"), 2e5, v100)) << "less than one product for each channel and output";
  EXPECT_FALSE(scaled(convolution("[1,1]"), 9e6, v100)) << "less than half of the roofline";
  EXPECT_FALSE(scaled(convolution("[1,1]"), 2e6, *find_data_sheet("A100"))) << "which has tf32";
}

TEST(StepOnDevice, BoundsOfConvolutionsAllowForWinograd) {
  const auto v100 = *find_data_sheet("V100-PCIE");
  const ListedStep step{.operations = {CountedOperation(convolution("[1,1]"))}};
  const double direct_ns = 2.0 * 32 * 256 * 28 * 28 * 256 * 9 / 14e12 * 1e9;
  EXPECT_NEAR(step_on_device(step, v100, {{std::nullopt}}, {}).low_ns, direct_ns / 9, 1);
}

TEST(StepOnDevice, ATraceIsEstimatedWhereMostTimeIsPredicted) {
  const auto t4 = *find_data_sheet("T4");
  const auto p100 = *find_data_sheet("P100");
  const auto found = [&](double of_add, double of_unknown) {
    const ListedStep step{.batch_size = 0,
                          .operations = {CountedOperation(kAdd, 1, of_add), CountedOperation("mine", 5, of_unknown)},
                          .recorded_on = RecordedOn{p100}};
    return step_on_device(step, t4, {{std::nullopt, std::nullopt}, {{{&p100, of_add}}, {{&p100, of_unknown}}}}, {});
  };
  EXPECT_TRUE(found(1.2e6, 1e4).ns.has_value()) << "many operations, little of the time";
  EXPECT_FALSE(found(1.2e6, 1e5).ns.has_value());
  EXPECT_FALSE(found(1.2e6, 1e4).fits.has_value()) << "the peak is not known";
}

/// A wrong time elsewhere is no time that cannot be.
TEST(StepOnDevice, ScalesToNoLessThanTheRoofline) {
  const auto t4 = *find_data_sheet("T4");
  const auto a100 = *find_data_sheet("A100");
  const TimeElsewhere elsewhere{&a100, 1};
  const auto scaled = scaled_time(*work_of(kAdd), t4, {&elsewhere, 1});
  ASSERT_TRUE(scaled.has_value());
  EXPECT_GT(scaled->low, 8192.0 * 8192 * 12 / 321e9 * 1e9 * 0.99);
}

}  // namespace
}  // namespace ridgeline::operations
