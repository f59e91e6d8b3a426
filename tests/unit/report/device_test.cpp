// What each report says of a device, and that none says a word without one.
#include "report/device_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/memory/allocator_model.h"
#include "analysis/memory/step_replay.h"
#include "analysis/prediction/answers.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/read_report.h"
#include "report/rendered_prediction.h"
#include "tests/unit/analysis/fitted_predictor.h"
#include "tests/unit/report/expected.h"
#include "tests/unit/report/sample_profile.h"

namespace ridgeline::report {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// Weights of 1 GiB, and 16 MiB of activations for each sample, on a device of 16 GiB of which others hold one.
std::shared_ptr<const analysis::AllocatorModel> allocator_of(const analysis::Profile& profile) {
  analysis::AllocatorModel model;
  analysis::BlockRequest activations{{}, 0};
  for (const analysis::MemorySample& sample : profile.memory_samples) {
    model.sizes.push_back(sample.batch_size);
    activations.bytes.push_back(static_cast<std::uint64_t>(sample.batch_size) << 24U);
  }
  model.alive = 1;
  model.requests = {{std::vector<std::uint64_t>(model.sizes.size(), 1U << 30U), 0}, activations};
  model.first = {0, 1, ~1};
  model.later = {1, ~1};
  model.setup = {"expandable_segments:False", 16ULL << 30U, 15ULL << 30U};
  const auto largest = largest_that_fits(model, device_of(model.setup), 1 << 20);
  model.largest = largest.batch_size;
  model.is_bounded = largest.is_bounded;
  return std::make_shared<const analysis::AllocatorModel>(model);
}

/// The sample on a GPU: half of each line's time is a kernel's.
analysis::Profile device_profile() {
  analysis::Profile profile = testing::resnet_profile();
  profile.id = "0123456789abcdef";
  profile.skipped.clear();
  analysis::DeviceTime device;
  for (analysis::LineCost& line : profile.lines) {
    line.device.ms = line.self_ms / 2;
    line.device.total_ms = line.device.ms;
    line.device.by_phase[0] = line.device.ms;
    device.kernel_ms += line.device.ms;
  }
  profile.lines.front().device.copy_ms = 1;
  profile.lines.front().device.wait_ms = 2.5;
  device.kernel_ms -= 1;
  device.copy_ms = 1;
  device.by_phase[0] = device.kernel_ms + device.copy_ms;
  device.idle_ms = profile.iteration.ms.value - device.kernel_ms - device.copy_ms;
  device.waits = {1, device.kernel_ms - 1, device.copy_ms, 2, device.idle_ms - 3, 1};
  device.launches = 161;
  device.peak_reserved_bytes = std::uint64_t{3} << 30U;
  const analysis::Location line = profile.lines.front().location;
  device.kernels = {{"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)", 160, 30,
                     0.1875, 0.4, line, 20},
                    {"Memset (Device)|`odd`\x1b[1m", 1, 0.5, 0.5, 0.5, {}, 0}};
  profile.device = device;
  profile.allocator = allocator_of(profile);
  profile.capacity_bytes = profile.allocator->setup.available_bytes;
  analysis::Check check{profile.time_samples.front(), profile.memory_samples.front().peak_bytes, false, {}, {}, {}, {}};
  check.peak_reserved_bytes = std::uint64_t{3} << 30U;
  check.predicted_reserved_bytes = static_cast<double>((std::uint64_t{3} << 30U) + (2U << 20U));
  profile.checks = {check};
  return profile;
}

TEST(DeviceReport, JsonComesBackAsItWas) {
  const analysis::Profile profile = device_profile();
  const auto back = read_report(json_report(profile));
  ASSERT_TRUE(back.has_value()) << back.error().message();
  const nlohmann::ordered_json was = to_json(profile);
  const nlohmann::ordered_json is = to_json(*back);
  for (const char* part : {"device", "checks", "lines", "other", "breakdown"}) {
    EXPECT_EQ(is.at(part), was.at(part)) << part;
  }
  EXPECT_EQ(is.at("models").at("memory").at("allocator"), was.at("models").at("memory").at("allocator"));
  ASSERT_TRUE(back->device.has_value());
  EXPECT_EQ(back->device->kernels.size(), 2U);
  EXPECT_EQ(back->device->peak_reserved_bytes, profile.device->peak_reserved_bytes);
}

TEST(DeviceReport, JsonIsWhatTheSchemaTestReads) {
  analysis::Profile profile = device_profile();
  profile.lines.resize(2);
  profile.breakdown.children.resize(1);
  profile.breakdown.children[0].children.clear();
  testing::expect_file("device.json", json_report(profile));
}

TEST(DeviceReport, JsonHasNoWordOfADeviceThatIsNotThere) {
  EXPECT_THAT(json_report(testing::resnet_profile()), Not(HasSubstr("deviceMs")));
}

TEST(DeviceReport, PredictsWhatTheAllocatorReserves) {
  const analysis::Profile profile = device_profile();
  const analysis::Outlook outlook = analysis::outlook_of(profile);
  ASSERT_TRUE(outlook.fits.batch.has_value());
  EXPECT_EQ(outlook.fits.batch->batch_size, 14 * 64);  // 14 GiB of activations
  EXPECT_EQ(outlook.fits.batch->reserved_bytes, 15.0 * (1 << 30U));
  EXPECT_EQ(outlook.fits.obstacle, analysis::Obstacle::kNone);
  const analysis::Predictor predictor = analysis::fitted_predictor(profile);
  const analysis::Answer more = analysis::answer(predictor, {analysis::Quantity::kBatchSize, 14 * 64 + 1});
  EXPECT_EQ(more.batch->fits, false);
  EXPECT_EQ(more.batch->reserved_bytes, 15.0 * (1 << 30U) + (16U << 20U));
  const analysis::Answer half = analysis::answer(predictor, {analysis::Quantity::kMemory, 5.0 * (1 << 30U)});
  EXPECT_EQ(half.batch->batch_size, 4 * 64);
  const analysis::Answer none = analysis::answer(predictor, {analysis::Quantity::kMemory, 1000});
  EXPECT_EQ(none.obstacle, analysis::Obstacle::kTooLittleMemory);
  EXPECT_EQ(none.least->reserved_bytes, (1U << 30U) + 16.0 * (1U << 20U));
  EXPECT_THAT(json_prediction(half, profile, {}), HasSubstr("\"reservedBytes\": 5368709120.0"));
  testing::expect_file("device_prediction.100.txt", text_prediction(half, profile, {.stored = true}, {.width = 100}));
}

TEST(DeviceReport, AnAllocatorThatMakesNoSenseIsRefused) {
  const auto report = nlohmann::ordered_json::parse(json_report(device_profile()));
  const auto refusal_with = [&](const char* name, const nlohmann::ordered_json& value) {
    auto changed = report;
    changed["models"]["memory"]["allocator"][name] = value;
    const auto read = read_report(changed.dump());
    EXPECT_FALSE(read.has_value()) << name;
    return read.error().message();
  };
  EXPECT_EQ(refusal_with("requests", "1/x"), "requests are not valid");
  EXPECT_EQ(refusal_with("later", "-2"), "first or later is not valid");
  EXPECT_THAT(refusal_with("alive", 3), HasSubstr("alive"));
  EXPECT_THAT(refusal_with("conf", nullptr), HasSubstr("string"));
  EXPECT_THAT(refusal_with("availableBytes", 17ULL << 30U), HasSubstr("availableBytes"));
  EXPECT_THAT(refusal_with("largestThatFits", 0), HasSubstr("largestThatFits"));
}

TEST(DeviceReport, WithLostKernelsNothingIsSaidOfIdleTime) {
  analysis::Profile profile = device_profile();
  profile.device->lost_share = 0.21;
  const std::string json = json_report(profile);
  const auto device = nlohmann::ordered_json::parse(json)["device"];
  EXPECT_EQ(device["launchesWithoutKernel"], 0.21);
  EXPECT_TRUE(device["idleMs"].is_null());
  EXPECT_TRUE(device["utilisation"].is_null());
  EXPECT_FALSE(device.contains("waitsMs"));
  const auto back = read_report(json);
  ASSERT_TRUE(back.has_value()) << back.error().message();
  EXPECT_EQ(to_json(*back).at("device"), to_json(profile).at("device"));
  const std::string text = text_report(profile, {}, testing::resnet_source, {.width = 100});
  EXPECT_THAT(text, HasSubstr("idle unknown"));
  EXPECT_THAT(text, Not(HasSubstr("  waits ")));
}

TEST(DeviceReport, AnImpossibleFigureIsRefused) {
  auto report = nlohmann::ordered_json::parse(json_report(device_profile()));
  report["device"]["waitsMs"]["copy"] = -1;
  const auto read = read_report(report.dump());
  EXPECT_FALSE(read.has_value());
  EXPECT_THAT(read.error().message(), HasSubstr("copy"));
}

TEST(DeviceReport, TextHasTheFiguresAndTheTables) {
  const std::string text = text_report(device_profile(), {}, testing::resnet_source, {.width = 100});
  testing::expect_file("device.100.txt", text);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text_report(testing::resnet_profile(), {}, {}), Not(HasSubstr("KERNEL")));
}

TEST(DeviceReport, MarkdownHasTheLinesTimeOnTheDevice) {
  const analysis::Profile profile = device_profile();
  Cost cost;
  cost.self_ms = 10;
  cost.device.ms = 4;
  cost.device.wait_ms = 1;
  EXPECT_THAT(cost_markdown(profile, cost).markup(), ContainsRegex("on the device +\\| 4.00 ms \\|"));
  EXPECT_THAT(cost_markdown(profile, cost).markup(), ContainsRegex("waits for the device \\| 1.00 ms \\|"));
  EXPECT_THAT(cost_markdown(testing::resnet_profile(), cost).markup(), Not(HasSubstr("device |")));
  EXPECT_THAT(summary_markdown(profile, {}).markup(), HasSubstr("| device busy |"));
}

TEST(ShortKernel, LeavesOutTemplatesParametersAndTheReturnType) {
  EXPECT_EQ(short_kernel("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, F)"),
            "vectorized_elementwise_kernel");
  EXPECT_EQ(short_kernel("ampere_sgemm_128x64_tn"), "ampere_sgemm_128x64_tn");
  EXPECT_EQ(short_kernel("void (anonymous namespace)::softmax_warp_forward<float, 8>(float*) [clone .kd]"),
            "softmax_warp_forward");
  EXPECT_EQ(short_kernel(">>>"), ">>>");
  EXPECT_EQ(short_kernel(""), "");
}

}  // namespace
}  // namespace ridgeline::report
