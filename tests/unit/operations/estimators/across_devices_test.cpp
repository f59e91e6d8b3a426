#include "operations/estimators/across_devices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <string>
#include <vector>

#include "operations/device/data_sheets.h"
#include "operations/device/wave_scaling.h"
#include "operations/estimators/estimator_file.h"
#include "operations/estimators/held_out.h"

namespace ridgeline::operations {
namespace {

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
  auto models = trained_models(trained, groups_across_devices(devices));
  EXPECT_TRUE(models) << models.error().message();
  return {{}, 1, *models, {"T4", "P4"}};
}

TEST(GroupsAcross, HoldOutADeviceAtATime) {
  const std::vector<DeviceTimes> devices = {times_on("T4"), times_on("P4")};
  const auto groups = groups_across_devices(devices);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].group.mode, "product of matrices, float32");
  EXPECT_EQ(groups[0].folds.front(), 0);
  EXPECT_EQ(groups[0].folds.back(), 1);
  EXPECT_EQ(groups[0].keys.size(), 50U);
  EXPECT_TRUE(groups_across_devices(std::span(devices).first(1)).empty());
}

TEST(EstimateAcross, IsOfTheBoundOfTheDevice) {
  const auto found = estimate_across_devices(estimators(2), product(1024), *find_data_sheet("T4"));
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->ns, 2 * 2.0 * 1024 * 1024 * 1024 / 8.1e12 * 1e9, 1);
  EXPECT_NEAR(found->high / found->ns, std::exp(0.5), 1e-9);
}

TEST(EstimateAcross, IsNoFasterThanTheRoofline) {
  Device card = *find_data_sheet("T4");
  card.power_w.reset();
  const auto found = estimate_across_devices(estimators(0.1), product(1024), card);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->ns, 2.0 * 1024 * 1024 * 1024 / 8.1e12 * 1e9, 1);
  EXPECT_EQ(found->low, found->ns);
}

TEST(EstimateAcross, RefusesWhatIsFarOutside) {
  EXPECT_FALSE(estimate_across_devices(estimators(2), product(16384), *find_data_sheet("T4")).has_value());
  EXPECT_FALSE(estimate_across_devices(estimators(2), "no key", *find_data_sheet("T4")).has_value());
}

/// Of 25 products the second quickest counts, 1984³ in 1984 µs, and of the devices T4, which has the least power.
TEST(EstimateAcross, ShortOfPowerReachesFromTheFullClockToTheEnergyOfTheOthers) {
  const Estimators made = estimators(2);
  Device card = *find_data_sheet("T4");
  const auto full = estimate_across_devices(made, product(1024), card);
  ASSERT_TRUE(full.has_value());
  const double flops = 2.0 * 1024 * 1024 * 1024;
  const double joules = 70.0 * 1984e-6 / (2.0 * 1984 * 1984 * 1984);
  EXPECT_NEAR(made.models[0].group.joules_per_flop / joules, 1, 1e-9);
  card.power_w->value = flops * joules / (4 * full->ns * 1e-9);  // so that it takes four times as long
  const auto found = estimate_across_devices(made, product(1024), card);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->low, full->low, 1e-6);
  EXPECT_NEAR(found->ns, 2 * full->ns, 1e-3);
  EXPECT_NEAR(found->high, 4 * full->high, 1e-3);
  card.power_w.reset();  // not known
  EXPECT_EQ(estimate_across_devices(made, product(1024), card)->ns, full->ns);
}

std::string sum_of_rows(int rows) {
  return fmt::format(R"(["aten::add.Tensor",["t:float32:{0},1024:1024,1:cuda","t:float32:{0},1024:1024,1:cuda"],{{}}])",
                     rows);
}

/// 1.5 times the bound, of 4096 rows and more.
Estimators of_sums() {
  std::vector<DeviceTimes> devices = {{*find_data_sheet("T4"), {}}, {*find_data_sheet("P4"), {}}};
  for (DeviceTimes& device : devices) {
    for (int rows = 4096; rows <= 16384; rows += 1024) {
      device.rows.push_back({{"a GPU", 1, "2"}, {.key = sum_of_rows(rows), .ns = 1e6}, 1, ""});
    }
  }
  auto models = trained_models(
      R"({"models":[{"kind":"product","low":-0.1,"high":0.1,"errors":{"product":0.1,"trees":0.2,"mlp":0.3},
          "product":{"exponents":[1],"offsetNs":0,"scaleNs":1.5}}]})",
      groups_across_devices(devices));
  EXPECT_TRUE(models) << models.error().message();
  return {{}, 1, *models, {"T4", "P4"}};
}

TEST(EstimateAcross, FewerRowsThanSeenTakeAShareOfTheSmallest) {
  const Device card = *find_data_sheet("T4");
  const auto seen = estimate_across_devices(of_sums(), sum_of_rows(4096), card);
  const auto small = estimate_across_devices(of_sums(), sum_of_rows(512), card);
  ASSERT_TRUE(seen.has_value());
  ASSERT_TRUE(small.has_value());
  EXPECT_NEAR(small->ns, seen->ns / 8, seen->ns * 1e-4);
  EXPECT_NEAR(small->high, seen->high, seen->ns * 1e-4);
  EXPECT_LT(small->low, small->ns / 2);
}

/// At less than 10 µs of moving data it would be the start that counts.
TEST(EstimateAcross, RefusesWhatIsTooSmallForItsStartNotToMatter) {
  EXPECT_FALSE(estimate_across_devices(of_sums(), sum_of_rows(128), *find_data_sheet("T4")).has_value());
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
  const auto errors = errors_across_devices(estimators(2), held_out, others);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_TRUE(errors[0].trained);
  EXPECT_GT(errors[0].error.mean, 0.99);
  EXPECT_GT(*errors[0].roofline, errors[0].error.mean);
  EXPECT_TRUE(errors[0].scaled.has_value());
}

/// Adding moves 12 bytes for each operation: nearly all of it scales with the bandwidth.
TEST(WaveScaling, DataMovementScalesByTheBandwidth) {
  const auto work = work_of(R"(["aten::add.Tensor",["t:float32:4096:1:cuda","t:float32:4096:1:cuda"],{}])");
  ASSERT_TRUE(work.has_value());
  const auto scaled = wave_scaled_ns(*work, *find_data_sheet("P4"), *find_data_sheet("T4"), 1000);
  ASSERT_TRUE(scaled.has_value());
  EXPECT_NEAR(*scaled, 1000 * 192.0 / 320, 5);
}

}  // namespace
}  // namespace ridgeline::operations
