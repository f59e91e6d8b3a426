#include "report/json.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "analysis/prediction/answers.h"
#include "expected.h"
#include "sample_profile.h"

namespace ridgeline::report {
namespace {

using Json = nlohmann::ordered_json;

double sum_of(const Json& items, const Json::json_pointer& field) {
  double sum = 0;
  for (const Json& item : items) {
    sum += item.at(field).get<double>();
  }
  return sum;
}

/// Keeps `depth` levels below the node, for a file that a reader can take in.
void prune(analysis::Node& node, int depth) {
  if (depth == 0) {
    node.children.clear();
  }
  for (analysis::Node& child : node.children) {
    prune(child, depth - 1);
  }
}

TEST(JsonReport, IsWhatTheSchemaTestReads) {
  analysis::Profile profile = testing::resnet_profile();
  prune(profile.breakdown, 2);
  testing::expect_file("sample.json", json_report(profile, analysis::outlook_of(profile)));
  testing::expect_file("minimal.json",
                       json_report(testing::minimal_profile(), analysis::outlook_of(testing::minimal_profile())));
}

TEST(JsonReport, SumsCloseAfterARoundTrip) {
  const Json report = Json::parse(json_report(testing::resnet_profile()));
  const double time = report["iteration"]["timeMs"].get<double>();
  EXPECT_NEAR(sum_of(report["lines"], "/timeMs/self"_json_pointer) + sum_of(report["other"], "/timeMs"_json_pointer),
              time, 1e-9 * time);
  EXPECT_NEAR(sum_of(report["breakdown"]["children"], "/timeMs"_json_pointer), time, 1e-9 * time);
  std::uint64_t peak = 0;
  for (const Json& size : report["memory"]["byCategory"]) {
    peak += size.get<std::uint64_t>();
  }
  EXPECT_EQ(peak, report["memory"]["peakBytes"].get<std::uint64_t>());
  EXPECT_EQ(peak, static_cast<std::uint64_t>(sum_of(report["lines"], "/memoryBytes/atPeak"_json_pointer) +
                                             sum_of(report["other"], "/peakBytes"_json_pointer)));
}

TEST(JsonReport, MemoryOverTimePeaksAtThePeak) {
  const Json memory = Json::parse(json_report(testing::resnet_profile()))["memory"];
  std::uint64_t sum = 0;
  for (const Json& bytes : memory["overTime"]["byCategory"]) {
    sum += bytes.at(memory["overTime"]["peak"].get<std::size_t>()).get<std::uint64_t>();
  }
  EXPECT_EQ(sum, memory["peakBytes"].get<std::uint64_t>());
}

TEST(JsonReport, KeepsEveryDigit) {
  analysis::Profile profile = testing::minimal_profile();
  profile.iteration.ms.value = 0.1 + 0.2;
  profile.peak_bytes = std::numeric_limits<std::uint64_t>::max();
  const Json report = Json::parse(json_report(profile));
  EXPECT_EQ(report["iteration"]["timeMs"].get<double>(), 0.1 + 0.2);
  EXPECT_EQ(report["memory"]["peakBytes"].get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
}

TEST(JsonReport, WritesNullForWhatIsAbsent) {
  const Json report = to_json(testing::minimal_profile());
  EXPECT_TRUE(report["id"].is_null());
  EXPECT_TRUE(report["throughput"]["maxSamplesPerSecond"].is_null());
  EXPECT_TRUE(report["models"]["time"]["relativeSd"].is_null());
  EXPECT_EQ(report["models"]["time"]["pieces"], Json::array());
  EXPECT_TRUE(report["models"]["memory"]["residualBytes"].is_null());
  EXPECT_EQ(report["models"]["time"]["samples"].size(), 1U);
  EXPECT_TRUE(report["breakdown"]["location"].is_null());
  EXPECT_EQ(report["lines"], Json::array());
  EXPECT_EQ(report["warnings"], Json::array());

  analysis::Profile profile = testing::minimal_profile();
  profile.lines.emplace_back().location = {"entry.py", 3};
  EXPECT_TRUE(to_json(profile)["lines"][0]["calls"].is_null());
}

TEST(JsonReport, WritesNullForWhatIsNotFinite) {
  analysis::Profile profile = testing::minimal_profile();
  profile.samples_per_second = std::numeric_limits<double>::infinity();
  profile.scale = std::nan("");
  EXPECT_TRUE(to_json(profile)["throughput"]["samplesPerSecond"].is_null());
  EXPECT_EQ(to_json(profile)["closure"]["scale"], 0) << "a null would be refused where the report is read";
}

TEST(JsonReport, ReplacesInvalidUtf8) {
  analysis::Profile profile = testing::minimal_profile();
  profile.warnings = {"bad \xFF byte"};
  EXPECT_EQ(Json::parse(json_report(profile))["warnings"][0], "bad \uFFFD byte");
}

}  // namespace
}  // namespace ridgeline::report
