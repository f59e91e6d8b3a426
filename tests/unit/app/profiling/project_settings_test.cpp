#include "app/profiling/project_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string refusal(const std::string& text) {
  const auto settings = parse_project_settings(text, "pyproject.toml");
  return settings ? "accepted" : settings.error().message();
}

TEST(ProjectSettings, HaveAFactorOfTheElectricity) {
  const auto settings = parse_project_settings(
      "[tool.ridgeline]\nco2-grams-per-kwh = 350\n[tool.ridgeline.budgets.\"entry.py\"]\nmax-time = \"1 s\"\n", "p");
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_EQ(settings->co2_g_per_kwh, 350);
}

TEST(ProjectSettings, IgnoreOtherTools) {
  const auto settings = parse_project_settings("[tool.ruff]\nline-length = 120\n", "p");
  ASSERT_TRUE(settings);
  EXPECT_FALSE(settings->co2_g_per_kwh.has_value());
}

TEST(ProjectSettings, ThatAreWrongAreNamedWithTheirPlace) {
  EXPECT_THAT(refusal("[tool.ridgeline]\nco2-grams-per-kwh = \"350\"\n"),
              StartsWith("pyproject.toml:2:21: write grams from 0 to 100000"));
  EXPECT_THAT(refusal("[tool.ridgeline]\nco2-grams-per-kwh = -1\n"), HasSubstr("write grams"));
  EXPECT_THAT(refusal("[tool.ridgeline]\nco2-grams-per-kwh = nan\n"), HasSubstr("write grams"));
  EXPECT_THAT(refusal("[tool.ridgeline]\nco2 = 350\n"),
              StartsWith("pyproject.toml:2:1: [tool.ridgeline] has no \"co2\""));
  EXPECT_THAT(refusal("[tool.ridgeline\n"), StartsWith("pyproject.toml:"));
}

}  // namespace
}  // namespace ridgeline::app
