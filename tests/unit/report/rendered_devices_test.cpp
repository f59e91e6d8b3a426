#include "report/rendered_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

namespace ridgeline::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

operations::StepOnDevice bound_of(double low_ns) { return {.batch_size = 4, .low_ns = low_ns}; }

operations::StepOnDevice estimate_of(double ns) {
  return {.batch_size = 4, .low_ns = 0.9 * ns, .ns = ns, .high_ns = 1.2 * ns};
}

std::vector<std::string> order_of(const OtherDevices& devices) {
  std::vector<std::string> names;
  for (const OtherDevice& one : devices.devices) {
    names.push_back(one.name);
  }
  return names;
}

TEST(OtherDevices, WithBoundsOnlyComeLast) {
  OtherDevices devices{"entry.py",
                       4,
                       std::nullopt,
                       {{"bound", "data sheet", std::nullopt, {bound_of(1e3)}},
                        {"slow", "data sheet", std::nullopt, {estimate_of(4e6)}},
                        {"fast", "data sheet", std::nullopt, {estimate_of(2e6)}}}};
  sort_devices(devices);
  EXPECT_THAT(order_of(devices), ElementsAre("fast", "slow", "bound"));
  const std::string text = text_other_devices(devices);
  const std::string remark = "Only bounds are known of what follows";
  EXPECT_LT(text.find("slow"), text.find(remark));
  EXPECT_LT(text.find(remark), text.find("  bound"));
  EXPECT_THAT(text, HasSubstr("at least 1.00 µs"));
  EXPECT_THAT(text, HasSubstr("at most 4e+06"));
  devices.devices.pop_back();
  EXPECT_THAT(text_other_devices(devices), Not(HasSubstr(remark)));
}

TEST(OtherDevices, SayWhatIsHeldAndTheLargestBatchThatFits) {
  OtherDevice device{"T4", "data sheet", std::nullopt, {bound_of(1e3), bound_of(1e3)}};
  device.capacity_bytes = 16.0 * (1U << 30U);
  device.largest = {.low = 6, .high = 9};
  device.steps[0].held = {.low = 2.0 * (1U << 30U), .high = 3.0 * (1U << 30U)};
  device.steps[0].fits = true;
  device.steps[1].batch_size = 8;
  device.steps[1].held = {.low = 15.0 * (1U << 30U), .high = 17.0 * (1U << 30U)};
  OtherDevices devices{"entry.py", 4, std::nullopt, {device}};
  const std::string text = text_other_devices(devices);
  EXPECT_THAT(text, HasSubstr("–  yes\n"));
  EXPECT_THAT(text, HasSubstr("holds 2.00 GiB to 3.00 GiB of 16.0 GiB; the largest batch that fits: 6 to 9\n"));
  EXPECT_THAT(text, HasSubstr("fits: perhaps (15.0 GiB to 17.0 GiB)"));
  const nlohmann::json json = nlohmann::json::parse(json_other_devices(devices))["devices"][0];
  EXPECT_EQ(json["largestBatch"]["low"], 6);
  EXPECT_EQ(json["steps"][0]["heldBytes"]["high"], 3U << 30U);
  EXPECT_TRUE(json["steps"][1]["fits"].is_null());
  devices.devices[0].capacity_bytes.reset();
  EXPECT_THAT(text_other_devices(devices), HasSubstr("fits: not known"));
}

TEST(OtherDevices, AreSortedByCostWhereAllHaveAPrice) {
  OtherDevices devices{
      "entry.py",
      4,
      1000,
      {{"fast", "data sheet", 10.0, {estimate_of(2e6)}}, {"slow", "data sheet", 1.0, {estimate_of(4e6)}}}};
  sort_devices(devices);
  EXPECT_THAT(order_of(devices), ElementsAre("slow", "fast"));
  const nlohmann::json epoch =
      nlohmann::json::parse(json_other_devices(devices))["devices"][0]["steps"][0]["costPerEpoch"];
  EXPECT_NEAR(epoch["high"].get<double>(), 1.0 / 3600 * 1000 / 4 * 1.2 * 4e-3, 1e-9);
}

TEST(OtherDevices, OnSeveralHaveTheSamplesAndTheCostOfAll) {
  const OtherDevices devices{
      "entry.py", 4, std::nullopt, {{"A100", "data sheet", 3.6, {estimate_of(2e6)}, {{2, 4e6, 8e6}, {4, 1e7}}}}};
  const std::string text = text_other_devices(devices);
  EXPECT_THAT(text, HasSubstr("on 2: 4.00 ms to 8.00 ms, 1000 to 2000 samples/s\n"));
  EXPECT_THAT(text, HasSubstr("on 4: at least 10.0 ms, at most 1600 samples/s\n"));
  const nlohmann::json ranks = nlohmann::json::parse(json_other_devices(devices))["devices"][0]["ranks"];
  EXPECT_EQ(ranks[0]["samplesPerSecond"]["low"], 1000);
  // 2 devices for 1e6 / 1000 seconds.
  EXPECT_NEAR(ranks[0]["costPerMillionSamples"]["high"].get<double>(), 2 * 3.6 / 3600 * 1000, 1e-9);
  EXPECT_TRUE(ranks[1]["ms"]["high"].is_null());
}

TEST(OtherDevices, ShowStepsWhereATraceHasNoSamples) {
  OtherDevices devices{"trace.json", 0, std::nullopt, {{"A100", "data sheet", 3.6, {}}}};
  devices.devices[0].steps = {{.batch_size = 0, .low_ns = 4e6, .ns = 5e6, .high_ns = 8e6}};
  devices.recorded = RecordedOnDevice{.device = "Tesla T4",
                                      .description = "data sheet of T4",
                                      .has_steps = true,
                                      .steps = 6,
                                      .ns = 20e6,
                                      .low_ns = 19e6,
                                      .high_ns = 23e6,
                                      .communication_ns = 1e6,
                                      .operations = 40,
                                      .not_described = 3,
                                      .not_described_ns = 1e6,
                                      .names = {"mine::op"}};
  const std::string text = text_other_devices(devices);
  EXPECT_THAT(text, HasSubstr("trace.json · batch size not known · predicted for other devices"));
  EXPECT_THAT(text, HasSubstr("Recorded on Tesla T4 (data sheet of T4): 20.0 ms of operations in the middle one of 6 "
                              "steps (19.0 ms to 23.0 ms)."));
  EXPECT_THAT(text, HasSubstr("3 of 40 operations have no model, 5.0 % of the time: mine::op"));
  EXPECT_THAT(text, HasSubstr("STEPS/S"));
  EXPECT_THAT(text, HasSubstr("not known"));
  const nlohmann::json json = nlohmann::json::parse(json_other_devices(devices));
  const nlohmann::json& step = json["devices"][0]["steps"][0];
  EXPECT_TRUE(json["batchSize"].is_null() && step["batchSize"].is_null() && step["samplesPerSecond"].is_null());
  EXPECT_TRUE(step["costPerMillionSamples"].is_null() && step["peakBytes"].is_null() && step["fits"].is_null());
  EXPECT_DOUBLE_EQ(step["costPerMillionSteps"]["high"].get<double>(), 8.0);
  EXPECT_EQ(json["recorded"]["steps"], 6);
  EXPECT_EQ(json["recorded"]["notDescribed"]["names"][0], "mine::op");
}

}  // namespace
}  // namespace ridgeline::report
