// What reports say of a step's energy, and that they say nothing where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/prediction/answers.h"
#include "analysis/values/energy.h"
#include "report/html_report.h"
#include "report/json.h"
#include "report/read_report.h"
#include "report/text_report.h"
#include "report/units.h"
#include "tests/unit/report/sample_profile.h"

namespace ridgeline::report {
namespace {

using protocol::EnergyOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A processor at 50 W, 20 of them idle, and its memory at 5 W, all of them idle, for the iteration of the sample.
analysis::Profile measured_profile() {
  analysis::Profile profile = testing::resnet_profile();
  const double seconds = profile.iteration.ms.value / 1000;
  profile.energy = protocol::StepEnergy{
      {{"package-0", EnergyOf::kProcessor, 50 * seconds, 20}, {"dram", EnergyOf::kMemory, 5 * seconds, 6}},
      55 * seconds,
      53 * seconds,
      58 * seconds,
      12,
      6,
      profile.iteration.ms.value};
  profile.co2_g_per_kwh = 360;
  return profile;
}

std::string text_of(const analysis::Profile& profile) {
  return text_report(profile, analysis::outlook_of(profile), nullptr, {});
}

TEST(Energy, PartsCountWhatIsTakenBeyondIdle) {
  const analysis::Profile profile = measured_profile();
  const double seconds = profile.iteration.ms.value / 1000;
  double sum = 0;
  for (const analysis::LineCost& line : profile.lines) {
    sum += *analysis::part_joules(profile, line.self_ms, 0);
  }
  for (const analysis::OtherCost& other : profile.other) {
    sum += *analysis::part_joules(profile, other.ms, 0);
  }
  EXPECT_NEAR(sum, 30 * seconds, 1e-6);
  EXPECT_NEAR(analysis::idle_joules(*profile.energy), 25 * seconds, 1e-9);  // no more of the memory than it took
  EXPECT_NEAR(*analysis::co2_grams(profile), 55 * seconds / 1e4, 1e-9);
}

/// A device takes energy for what runs on it, the processor for the host's time.
TEST(Energy, IsSharedByTheTimeOfADevice) {
  analysis::Profile profile = measured_profile();
  profile.energy->counters = {{"package-0", EnergyOf::kProcessor, 10, 0}, {"A100", EnergyOf::kDevice, 100, 0}};
  profile.device.emplace();
  profile.device->kernel_ms = 30;
  profile.device->copy_ms = 10;
  EXPECT_NEAR(*analysis::part_joules(profile, profile.iteration.ms.value / 2, 10), 5 + 25, 1e-9);
}

TEST(Energy, StandsInEachReport) {
  const analysis::Profile profile = measured_profile();
  const std::string text = text_of(profile);
  EXPECT_THAT(text, HasSubstr("energy"));
  EXPECT_THAT(text, HasSubstr("power 55.0 W"));
  EXPECT_THAT(text, HasSubstr("idle 26.0 W"));
  EXPECT_THAT(text, HasSubstr("6 rounds"));
  EXPECT_THAT(html_report(profile, analysis::outlook_of(profile), nullptr), HasSubstr("\"label\":\"energy\""));
}

/// 30 W beyond idle for each line's time.
TEST(Energy, StandsByLine) {
  const analysis::Profile profile = measured_profile();
  const analysis::LineCost& line = profile.lines.front();
  const std::string joules = energy(30 * line.self_ms / 1000);
  const auto outlook = analysis::outlook_of(profile);
  for (const int width : {100, 110, 140}) {
    const std::string text = text_report(profile, outlook, nullptr, {.width = width});
    EXPECT_THAT(text, HasSubstr(width >= 108 ? "    ENERGY" : "energy " + joules)) << width;
    EXPECT_THAT(text, HasSubstr(joules)) << width;
  }
  EXPECT_THAT(html_report(profile, outlook, nullptr), HasSubstr("\"energy\":{\"text\":"));
  EXPECT_THAT(text_report(testing::resnet_profile(), outlook, nullptr, {.width = 140}), Not(HasSubstr("ENERGY")));
}

TEST(Energy, IsReadAgain) {
  const analysis::Profile profile = measured_profile();
  const std::string json = json_report(profile, analysis::outlook_of(profile));
  const auto read = read_report(json);
  ASSERT_TRUE(read.has_value()) << read.error().message();
  ASSERT_TRUE(read->energy.has_value());
  EXPECT_EQ(read->energy->counters[1].name, "dram");
  EXPECT_EQ(read->energy->counters[1].of, EnergyOf::kMemory);
  EXPECT_EQ(read->energy->high, profile.energy->high);
  EXPECT_EQ(read->co2_g_per_kwh, 360);
  const auto energy_in = [](const std::string& text) { return nlohmann::ordered_json::parse(text).at("energy"); };
  EXPECT_EQ(energy_in(json_report(*read)), energy_in(json));
}

TEST(Energy, ThatWasNotMeasuredIsNoWord) {
  const analysis::Profile profile = testing::resnet_profile();
  EXPECT_THAT(text_of(profile), Not(HasSubstr("energy")));
  const auto json = nlohmann::ordered_json::parse(json_report(profile, analysis::outlook_of(profile)));
  EXPECT_TRUE(json.at("energy").is_null());
  EXPECT_FALSE(json.at("lines").at(0).contains("joules"));
}

}  // namespace
}  // namespace ridgeline::report
