#include "report/export/speedscope.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/unit/report/export/recorded_step.h"

namespace ridgeline::report {
namespace {

using nlohmann::json;

/// The weights of a profile by stack: "entry.py frame > net frame".
std::map<std::string, double> weights(const json& file, std::size_t profile) {
  std::map<std::string, double> sums;
  const json& shown = file["profiles"][profile];
  for (std::size_t i = 0; i < shown["samples"].size(); ++i) {
    std::string stack;
    for (const json& frame : shown["samples"][i]) {
      stack +=
          (stack.empty() ? "" : " > ") + file["shared"]["frames"][frame.get<std::size_t>()]["name"].get<std::string>();
    }
    sums[stack] += shown["weights"][i].get<double>();
  }
  return sums;
}

double sum(const std::map<std::string, double>& weights) {
  double total = 0;
  for (const auto& [stack, weight] : weights) {
    total += weight;
  }
  return total;
}

constexpr const char* kForward = "step (entry.py:12) > forward (net.py:7) > net.layer (Linear) > forward (net.py:3) > ";

TEST(Speedscope, TimeClosesOnTheStep) {
  const testing::Exported step = testing::exported(testing::two_steps(), 80e6);
  const json file = json::parse(speedscope_profile(step.recorded, step.profile));
  const auto time = weights(file, 0);
  EXPECT_NEAR(sum(time), step.profile.iteration.ms.value, 1e-9);
  EXPECT_NEAR(file["profiles"][0]["endValue"].get<double>(), 80, 1e-9);
  EXPECT_EQ(file["profiles"][0]["unit"], "milliseconds");
  EXPECT_NEAR(time.at(kForward + std::string("linear (forward)")), 0.8 * 30, 1e-9);
  EXPECT_NEAR(time.at(kForward + std::string("linear (backward)")), 0.8 * 30, 1e-9);
}

TEST(Speedscope, MemoryClosesOnThePeak) {
  const testing::Exported step = testing::exported(testing::two_steps(), 80e6);
  const json file = json::parse(speedscope_profile(step.recorded, step.profile));
  EXPECT_EQ(sum(weights(file, 1)), static_cast<double>(step.profile.peak_bytes));
  EXPECT_EQ(file["profiles"][1]["unit"], "bytes");
  EXPECT_EQ(weights(file, 1).at(kForward + std::string("activations")), 300);
}

TEST(Speedscope, DeviceClosesOnItsWork) {
  const testing::Exported step = testing::exported(testing::two_steps(), 80e6);
  const json file = json::parse(speedscope_profile(step.recorded, step.profile));
  ASSERT_EQ(file["profiles"].size(), 3U);
  EXPECT_NEAR(sum(weights(file, 2)), step.profile.device->kernel_ms + step.profile.device->copy_ms, 1e-9);
}

TEST(Speedscope, FramesHaveTheirPlaces) {
  const testing::Exported step = testing::exported(testing::two_steps(), 80e6);
  const json file = json::parse(speedscope_profile(step.recorded, step.profile));
  const json& frames = file["shared"]["frames"];
  const auto found =
      std::ranges::find_if(frames, [](const json& frame) { return frame["name"] == "step (entry.py:12)"; });
  ASSERT_NE(found, frames.end());
  EXPECT_EQ((*found)["file"], "entry.py");
  EXPECT_EQ((*found)["line"], 12);
}

}  // namespace
}  // namespace ridgeline::report
