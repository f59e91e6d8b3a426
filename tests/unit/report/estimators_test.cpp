#include "report/estimators.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridgeline::report {
namespace {

TEST(TrainingReport, StatesNoErrorWhereEveryTimeWasRefused) {
  TrainingReport report;
  report.across.push_back({.device = "L4", .error = {.operation = "aten::mm", .rows = 3, .refused = 3}});
  report.across.push_back({.device = "T4", .error = {.operation = "aten::mm", .rows = 3, .refused = 2, .mean = 0.25}});
  const auto held_out = nlohmann::json::parse(json_training_across_devices(report))["heldOut"];
  for (const char* figure : {"meanError", "medianError", "worstError", "withinInterval", "sampleSpread"}) {
    EXPECT_TRUE(held_out[0][figure].is_null()) << figure;
  }
  EXPECT_EQ(held_out[1]["meanError"], 0.25);
  EXPECT_NE(text_training_across_devices(report).find("nothing to compare"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::report
