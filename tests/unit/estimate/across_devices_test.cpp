#include "estimate/across_devices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <string>
#include <vector>

#include "estimate/estimator_file.h"
#include "estimate/held_out.h"
#include "hardware/data_sheets.h"
#include "hardware/wave_scaling.h"

namespace ridgeline::estimate {
namespace {

using hardware::find_data_sheet;
using operations::ListedTime;

/// Square; at the peak of float32 it takes 2 · size³ / peak.
std::string product(int size) {
  return fmt::format(R"(["aten::mm.default",["t:float32:{0},{0}:{0},1:cuda","t:float32:{0},{0}:{0},1:cuda"],{{}}])",
                     size);
}

ListedTime timed(int size, double ns) {
  return {{"a GPU", 1, "2"}, {.key = product(size), .ns = ns, .low = ns, .high = ns, .samples = 1}, 1, ""};
}

DeviceTimes times_on(const char* device) {
  DeviceTimes times{*find_data_sheet(device), {}};
  for (int size = 512; size <= 2048; size += 64) {
    times.rows.push_back(timed(size, 1e3 * size));
  }
  std::ranges::sort(times.rows, {}, [](const ListedTime& row) { return row.time.key; });
  return times;
}

/// scale · bound.
Estimators estimators(double scale) {
  const std::vector<DeviceTimes> devices = {times_on("T4"), times_on("P4")};
  const std::string trained = fmt::format(
      R"({{"models":[{{"kind":"product","low":-0.5,"high":0.5,"errors":{{"product":0.1,"trees":0.2,"mlp":0.3}},
          "product":{{"exponents":[1],"offsetNs":0,"scaleNs":{}}}}}]}})",
      scale);
  auto models = trained_models(trained, groups_across(devices));
  EXPECT_TRUE(models) << models.error().message();
  return {{}, 1, *models, {"T4", "P4"}};
}

TEST(GroupsAcross, HoldOutADeviceAtATime) {
  const std::vector<DeviceTimes> devices = {times_on("T4"), times_on("P4")};
  const auto groups = groups_across(devices);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].group.mode, "product of matrices, float32");
  EXPECT_EQ(groups[0].folds.front(), 0);
  EXPECT_EQ(groups[0].folds.back(), 1);
  EXPECT_EQ(groups[0].keys.size(), 50U);
  EXPECT_TRUE(groups_across(std::span(devices).first(1)).empty());
}

TEST(EstimateAcross, IsOfTheBoundOfTheDevice) {
  const auto found = estimate_across(estimators(2), product(1024), *find_data_sheet("T4"));
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->ns, 2 * 2.0 * 1024 * 1024 * 1024 / 8.1e12 * 1e9, 1);
  EXPECT_NEAR(found->high / found->ns, std::exp(0.5), 1e-9);
}

TEST(EstimateAcross, IsNoFasterThanTheRoofline) {
  const auto found = estimate_across(estimators(0.1), product(1024), *find_data_sheet("T4"));
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->ns, 2.0 * 1024 * 1024 * 1024 / 8.1e12 * 1e9, 1);
  EXPECT_EQ(found->low, found->ns);
}

TEST(EstimateAcross, RefusesWhatIsFarOutside) {
  EXPECT_FALSE(estimate_across(estimators(2), product(16384), *find_data_sheet("T4")).has_value());
  EXPECT_FALSE(estimate_across(estimators(2), "no key", *find_data_sheet("T4")).has_value());
}

TEST(EstimateAcross, RefusesProductsOnADeviceThatIsShortOfPower) {
  hardware::Device card = *find_data_sheet("T4");  // of those trained with, it has the least for its peak
  EXPECT_EQ(estimate_across(estimators(2), product(1024), card)->beyond, 1);
  card.power_w->value /= 1.5;
  EXPECT_NEAR(estimate_across(estimators(2), product(1024), card)->beyond, 1.5, 1e-9);
  card.power_w->value /= 1.5;
  EXPECT_FALSE(estimate_across(estimators(2), product(1024), card).has_value());
  card.power_w.reset();  // not known
  EXPECT_EQ(estimate_across(estimators(2), product(1024), card)->beyond, 1);
}

TEST(EstimatorsAcross, AreReadAsTheyWereWritten) {
  const std::vector<Estimators> written = {estimators(2)};
  const auto read = parse_estimators(estimators_json(written), "estimators.json");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ((*read)[0].devices, written[0].devices);
  EXPECT_EQ((*read)[0].models[0].group, written[0].models[0].group);
}

TEST(ErrorsAcross, StandBesideTheRooflineAndScaledTimes) {
  const std::vector<DeviceTimes> others = {times_on("P4")};
  const DeviceTimes held_out{*find_data_sheet("T4"), {timed(1024, 1e9)}};
  const auto errors = errors_across(estimators(2), held_out, others);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_TRUE(errors[0].trained);
  EXPECT_GT(errors[0].error.mean, 0.99);
  EXPECT_GT(*errors[0].roofline, errors[0].error.mean);
  EXPECT_TRUE(errors[0].scaled.has_value());
}

/// Adding moves 12 bytes for each operation: nearly all of it scales with the bandwidth.
TEST(WaveScaling, OfWhatMovesDataIsByTheBandwidth) {
  const auto work = hardware::work_of(R"(["aten::add.Tensor",["t:float32:4096:1:cuda","t:float32:4096:1:cuda"],{}])");
  ASSERT_TRUE(work.has_value());
  const auto scaled = hardware::wave_scaled_ns(*work, *find_data_sheet("P4"), *find_data_sheet("T4"), 1000);
  ASSERT_TRUE(scaled.has_value());
  EXPECT_NEAR(*scaled, 1000 * 192.0 / 320, 5);
}

}  // namespace
}  // namespace ridgeline::estimate
