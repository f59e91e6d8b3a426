// What operations of a step attain, on graphs that are made by hand.
#include "operations/work/work_of_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ridgeline::operations {
namespace {

using analysis::Phase;
using analysis::StepWork;
using protocol::StepPart;
using step::Kind;
using ::testing::DoubleNear;
using ::testing::Optional;

// 2 * 100 * 200 * 50 = 2e6 FLOPs; 4 * (20,000 + 10,000 + 5,000) = 140,000 bytes.
constexpr const char* kMatrices = R"(["aten::mm.default",["t:float32:100,200:200,1","t:float32:200,50:50,1"],{}])";
constexpr double kFlops = 2e6;
constexpr double kBytes = 140'000;
// 10,000 FLOPs; 4 * 2 * 10,000 bytes.
constexpr const char* kRelu = R"(["aten::relu.default",["t:float32:100,100:100,1"],{}])";

/// 1 GFLOP/s and 1 GB/s: a FLOP and a byte take a nanosecond each.
Device slow_device(const std::string& peak = "float32") {
  Device device;
  device.name = "slow";
  device.peaks.push_back({peak, {{1e9, FigureSource::kMeasured}}});
  device.levels.push_back({"memory", 1e12, 1, 64, Rate{{1e9, FigureSource::kMeasured}}});
  return device;
}

/// A step on one thread: each operation on a line of its own.
class Step {
 public:
  Step() {
    graph_.resources.push_back({"thread 0", step::Resource::Type::kHost});
    graph_.names = {""};
    graph_.lines.emplace_back();
    graph_.modules = {""};
    graph_.operations.emplace_back();
    captured_.modules = {""};
  }

  Step& operation(const char* name, const char* key, std::int64_t ns, Phase phase = Phase::kForward,
                  bool recorded = true) {
    if (recorded) {
      const auto index = static_cast<std::uint32_t>(graph_.operations.size());
      graph_.operations.push_back({step::name_index(graph_, name), 0});
      graph_.lines.push_back({"net.py", static_cast<std::uint32_t>(graph_.lines.size())});
      graph_.tasks.push_back({.duration_ns = ns,
                              .line = static_cast<std::uint32_t>(graph_.lines.size()) - 1,
                              .operation = index,
                              .kind = Kind::kOperation,
                              .phase = phase});
    }
    captured_.keys.emplace_back(key);
    captured_.names.emplace_back(name);
    const int last = static_cast<int>(captured_.keys.size()) - 1;
    captured_.operations.push_back({last, last, 0, StepPart::kForward});
    return *this;
  }

  StepWork work(const BoundsOf* bounds, double iteration_ms = 10) const {
    return step_work(graph_, captured_, iteration_ms, bounds);
  }

 private:
  step::Graph graph_;
  protocol::CapturedStep captured_;
};

TEST(StepWork, ComparesEachLineWithTheRoofline) {
  const auto device = slow_device();
  const BoundsOf bounds{device, 1, true};
  const StepWork work =
      Step().operation("aten::mm", kMatrices, 8'000'000).operation("aten::relu", kRelu, 160'000).work(&bounds);
  ASSERT_EQ(work.lines.size(), 2U);
  EXPECT_EQ(work.lines[0].location.line, 1U);
  EXPECT_EQ(work.lines[0].work.flops, kFlops);
  EXPECT_EQ(work.lines[0].work.bytes, kBytes);
  EXPECT_THAT(work.lines[0].work.attained(), Optional(DoubleNear(0.25, 1e-9)));
  EXPECT_TRUE(work.lines[0].work.is_compute_bound());
  EXPECT_THAT(work.lines[1].work.attained(), Optional(DoubleNear(0.5, 1e-9)));
  EXPECT_FALSE(work.lines[1].work.is_compute_bound());
  EXPECT_THAT(work.total.attained(), Optional(DoubleNear(2.08 / 8.16, 1e-9)));
  EXPECT_EQ(work.total.matrix_flops, kFlops);
  EXPECT_THAT(work.model_flop_utilisation, Optional(DoubleNear(0.2, 1e-9)));
}

TEST(StepWork, ComparesFloat32WithTensorFloat32WhereTheStepMayUseIt) {
  auto device = slow_device();
  device.peaks.push_back({"tf32", {{8e9, FigureSource::kDataSheet}}});
  constexpr const char* kConvolution =
      R"(["aten::convolution.default",["t:float32:1,16,10,10:1600,100,10,1","t:float32:16,16,1,1:16,1,1,1",null,)"
      R"([1,1],[0,0],[1,1],false,[0,0],1],{}])";
  const auto peak_ms = [&](const char* name, const char* key, protocol::Tf32 tf32) {
    const BoundsOf bounds{device, 1, false, tf32};
    return Step().operation(name, key, 8'000'000).work(&bounds).total.matrix_peak_ms;
  };
  const double product = peak_ms("aten::mm", kMatrices, {false, true});
  EXPECT_GT(product, 0);
  EXPECT_DOUBLE_EQ(peak_ms("aten::mm", kMatrices, {true, false}), product / 8);
  const double convolution = peak_ms("aten::convolution", kConvolution, {true, false});
  EXPECT_GT(convolution, 0);
  EXPECT_DOUBLE_EQ(peak_ms("aten::convolution", kConvolution, {false, true}), convolution / 8);
}

TEST(StepWork, KnowsFlopsWithoutADevice) {
  const StepWork work = Step().operation("aten::mm", kMatrices, 8'000'000).work(nullptr);
  EXPECT_EQ(work.total.flops, kFlops);
  EXPECT_FALSE(work.total.attained().has_value());
  EXPECT_FALSE(work.device.has_value());
  EXPECT_FALSE(work.model_flop_utilisation.has_value());
}

TEST(StepWork, CountsWhatTheRecordingDoesNotHaveWithoutATime) {
  const auto device = slow_device();
  const BoundsOf bounds{device, 1, true};
  const StepWork work = Step()
                            .operation("aten::mm", kMatrices, 8'000'000)
                            .operation("aten::relu", kRelu, 0, Phase::kForward, false)
                            .work(&bounds);
  EXPECT_EQ(work.listed, 2);
  EXPECT_EQ(work.found, 1);
  EXPECT_EQ(work.total.flops, kFlops + 10'000);
  EXPECT_THAT(work.total.attained(), Optional(DoubleNear(0.25, 1e-9)));
}

TEST(StepWork, LeavesRecomputationOutOfTheUtilisation) {
  const auto device = slow_device();
  const BoundsOf bounds{device, 1, true};
  const StepWork work = Step()
                            .operation("aten::mm", kMatrices, 2'000'000)
                            .operation("aten::mm", kMatrices, 2'000'000, Phase::kRecomputation)
                            .work(&bounds);
  EXPECT_EQ(work.total.matrix_flops, 2 * kFlops);
  EXPECT_THAT(work.model_flop_utilisation, Optional(DoubleNear(0.2, 1e-9)));
}

TEST(StepWork, HasNoUtilisationWhereATypeHasNoPeak) {
  const auto device = slow_device("float64");
  const BoundsOf bounds{device, 1, true};
  const StepWork work = Step().operation("aten::mm", kMatrices, 2'000'000).work(&bounds);
  EXPECT_FALSE(work.model_flop_utilisation.has_value());
  EXPECT_FALSE(work.total.attained().has_value());
}

TEST(StepWork, SaysHowMuchIsNotModelled) {
  const StepWork work = Step()
                            .operation("aten::mm", kMatrices, 3'000'000)
                            .operation("own::op", R"(["own::op.default",["t:float32:8:1"],{}])", 1'000'000)
                            .work(nullptr);
  EXPECT_DOUBLE_EQ(work.total.not_modelled_ms, 1);
  EXPECT_DOUBLE_EQ(work.total.ms, 4);
}

}  // namespace
}  // namespace ridgeline::operations
