// What each report says of a device, and that none says a word without one.
#include "report/device_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/json.h"
#include "report/markdown.h"
#include "report/read_report.h"
#include "tests/unit/report/expected.h"
#include "tests/unit/report/sample_profile.h"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The sample on a GPU: half of each line's time is a kernel's.
analysis::Profile device_profile() {
  analysis::Profile profile = testing::resnet_profile();
  profile.id = "0123456789abcdef";
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
  return profile;
}

TEST(DeviceReport, JsonComesBackAsItWas) {
  const analysis::Profile profile = device_profile();
  std::string error;
  const auto back = read_report(json_report(profile), error);
  ASSERT_TRUE(back.has_value()) << error;
  const nlohmann::ordered_json was = to_json(profile);
  const nlohmann::ordered_json is = to_json(*back);
  for (const char* part : {"device", "lines", "other", "breakdown"}) EXPECT_EQ(is.at(part), was.at(part)) << part;
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

TEST(DeviceReport, AnImpossibleFigureIsRefused) {
  auto report = nlohmann::ordered_json::parse(json_report(device_profile()));
  report["device"]["waitsMs"]["copy"] = -1;
  std::string error;
  EXPECT_FALSE(read_report(report.dump(), error).has_value());
  EXPECT_THAT(error, HasSubstr("copy"));
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
  EXPECT_THAT(cost_markdown(profile, cost), HasSubstr("| on the device | 4.00 ms |"));
  EXPECT_THAT(cost_markdown(profile, cost), HasSubstr("| waits for the device | 1.00 ms |"));
  EXPECT_THAT(cost_markdown(testing::resnet_profile(), cost), Not(HasSubstr("device |")));
  EXPECT_THAT(summary_markdown(profile, {}), HasSubstr("| device busy |"));
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
