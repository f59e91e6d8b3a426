#include "step/changes/calibration.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace ridgeline::step {
namespace {

constexpr std::array<Residual, 4> kTable = {{{"any", 0.5, 20, 90, 0.3},
                                             {"autocast", 0.9, 20, 20, 0.1},
                                             {"autocast", 0.5, 6, 6, 0.05},
                                             {"optimizer", 0.9, 20, 40, 0.02}}};

TEST(WideningOf, IsThatOfTheKindAndNeverLessForASmallerShare) {
  EXPECT_DOUBLE_EQ(widening_of(kTable, "autocast", 1), 0.1);
  EXPECT_DOUBLE_EQ(widening_of(kTable, "autocast", 0.7), 0.1) << "fewer models happened to miss by less";
  EXPECT_DOUBLE_EQ(widening_of(kTable, "optimizer", 0.95), 0.02);
  EXPECT_DOUBLE_EQ(widening_of(kTable, "checkpoint", 1), 0.3) << "no model of this kind: that of all kinds";
  EXPECT_DOUBLE_EQ(widening_of({}, "checkpoint", 1), 0);
  for (const std::string_view kind : {"autocast", "optimizer", "any", "checkpoint"}) {
    double before = widening_of(kTable, kind, 1);
    for (double share = 1; share >= 0; share -= 0.05) {
      const double widening = widening_of(kTable, kind, share);
      EXPECT_GE(widening, before) << kind << " at " << share;
      before = widening;
    }
  }
}

TEST(KindOf, IsOfTheChangeWithoutItsArgument) {
  const auto kind = [](std::vector<std::string> changes) { return kind_of(changes); };
  EXPECT_EQ(kind({"accumulate:2"}), "accumulate");
  EXPECT_EQ(kind({"fused-optimizer"}), "optimizer");
  EXPECT_EQ(kind({"freeze:layer1"}), "any");
  EXPECT_EQ(kind({"bf16-autocast", "channels-last"}), "combined");
}

TEST(Calibrated, IsNeverNarrowerThanTheModelsOwnInterval) {
  for (const Residual& row : residual_table()) {
    EXPECT_GE(row.widening, 0) << row.kind;
    EXPECT_GE(row.least_share, 0.5) << row.kind;
  }
  EXPECT_GT(calibrated_level(), 0);
  EXPECT_LT(calibrated_level(), 1);
  for (const std::string change : {"bf16-autocast", "accumulate:2", "checkpoint", "without:fc1"}) {
    const std::vector<std::string> changes = {change};
    const analysis::SpeedUp wider = calibrated({1.2, 1.1, 1.3}, changes, 0.9);
    EXPECT_EQ(wider.value, 1.2);
    EXPECT_LE(wider.low, 1.1);
    EXPECT_GE(wider.high, 1.3);
  }
}

}  // namespace
}  // namespace ridgeline::step
