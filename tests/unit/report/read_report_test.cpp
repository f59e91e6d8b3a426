#include "report/read_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "analysis/prediction/predictor.h"
#include "report/json.h"
#include "report/report_fields.h"
#include "sample_profile.h"

namespace ridgeline::report {
namespace {

using Json = nlohmann::ordered_json;

analysis::Profile kept_profile() {
  analysis::Profile profile = testing::resnet_profile();
  profile.id = "00112233445566ff";
  return profile;
}

void expect_refused(const std::string& text) {
  const auto read = read_report(text);
  EXPECT_FALSE(read.has_value()) << text.substr(0, 300);
  EXPECT_NE(read.error().message(), "");
}

TEST(ReadReport, GivesBackWhatWasWritten) {
  const analysis::Profile profile = kept_profile();
  const auto read = read_report(json_report(profile));
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->id, profile.id);
  EXPECT_EQ(read->entry_path, profile.entry_path);
  EXPECT_EQ(read->project_root, profile.project_root);
  EXPECT_EQ(read->batch_size, profile.batch_size);
  EXPECT_EQ(read->capacity_bytes, profile.capacity_bytes);
  EXPECT_EQ(read->environment.torch, profile.environment.torch);
  EXPECT_EQ(read->environment.threads, profile.environment.threads);
  ASSERT_EQ(read->time_samples.size(), profile.time_samples.size());
  for (std::size_t i = 0; i < profile.time_samples.size(); ++i) {
    EXPECT_EQ(read->time_samples[i].batch_size, profile.time_samples[i].batch_size);
    EXPECT_EQ(read->time_samples[i].ms.value, profile.time_samples[i].ms.value);
    EXPECT_EQ(read->time_samples[i].ms.low, profile.time_samples[i].ms.low);
    EXPECT_EQ(read->time_samples[i].ms.high, profile.time_samples[i].ms.high);
    EXPECT_EQ(read->time_samples[i].iterations, profile.time_samples[i].iterations);
    EXPECT_EQ(read->memory_samples[i].peak_bytes, profile.memory_samples[i].peak_bytes);
  }
  ASSERT_EQ(read->skipped.size(), profile.skipped.size());
  EXPECT_EQ(read->skipped[0].kind, profile.skipped[0].kind);
}

/// With every part that a profile can have.
analysis::Profile full_profile() {
  analysis::Profile profile = kept_profile();
  profile.iteration.between_operations_ms = 12.5;
  profile.warnings = {"The machine was busy."};
  profile.unused_gradients = {{{"net.py", 11}, "Net.head.weight", 2, 5'000'000}, {{}, "Net.hidden", 1, 8}};
  profile.checks.push_back({profile.time_samples.front(),
                            4096,
                            true,
                            analysis::Estimate{2, analysis::Interval{1, 3}},
                            analysis::Estimate{4096, std::nullopt},
                            {},
                            {}});
  profile.breakdown.children.front().callers = {{{"net.py", 11}, 30, {20, 10}, 4096, 0},
                                                {{"net.py", 12}, 4, {4}, 0, 0}};
  profile.lines.front().self_spread = 0.04;
  analysis::fit_models(profile);
  return profile;
}

TEST(ReadReport, LosesNothing) {
  const std::string written = json_report(full_profile());
  auto read = read_report(written);
  ASSERT_TRUE(read.has_value()) << read.error().message();
  analysis::fit_models(*read);
  EXPECT_EQ(Json::diff(Json::parse(written), Json::parse(json_report(*read))), Json::array());
}

TEST(ReadReport, TakesAReportWithoutMemoryOverTime) {
  Json report = Json::parse(json_report(full_profile()));
  report["memory"].erase("overTime");
  const auto read = read_report(report.dump());
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_FALSE(read->memory_over_time.has_value());
}

TEST(ReadReport, RefusesABreakdownThatIsTooDeep) {
  Json report = Json::parse(json_report(full_profile()));
  for (int i = 0; i < 300; ++i) {
    Json outer = report["breakdown"];
    outer["children"] = Json::array({std::move(report["breakdown"])});
    report["breakdown"] = std::move(outer);
  }
  expect_refused(report.dump());
}

TEST(ReadReport, RefusesWhatIsNoReport) {
  for (const char* text : {"", "{", "[]", "null", "{}", "{\"version\": 2}"}) {
    expect_refused(text);
  }
  expect_refused(std::string(1'000'000, '['));
}

/// The report with at most two elements of each list: the same fields, read sooner.
Json shortened(const Json& report) {
  Json result = report.is_array() ? Json::array() : report;
  if (report.is_array()) {
    for (std::size_t i = 0; i < std::min<std::size_t>(report.size(), 2); ++i) {
      result.push_back(shortened(report[i]));
    }
  } else if (report.is_object()) {
    for (auto& [name, value] : result.items()) {
      value = shortened(value);
    }
  }
  return result;
}

/// Each value that is read, made wrong in every way that its type allows.
TEST(ReadReport, RefusesEveryFieldThatIsWrong) {
  const std::set<std::string> may_be_unknown = {"/entry/batchSize", "/memory/peakBytes",
                                                "/throughput/samplesPerSecond"};
  const Json good = shortened(Json::parse(json_report(full_profile())));
  const auto read = read_report(good.dump());
  ASSERT_TRUE(read.has_value()) << read.error().message();
  for (const char* place : {"/version",
                            "/id",
                            "/environment/python",
                            "/environment/torch",
                            "/environment/device",
                            "/environment/deviceName",
                            "/environment/threads",
                            "/entry/path",
                            "/entry/projectRoot",
                            "/entry/batchSize",
                            "/memory/capacityBytes",
                            "/models/time/samples",
                            "/models/time/samples/0/batchSize",
                            "/models/time/samples/0/timeMs",
                            "/models/time/samples/0/lowMs",
                            "/models/time/samples/0/highMs",
                            "/models/time/samples/0/iterations",
                            "/models/memory/samples",
                            "/models/memory/samples/0/batchSize",
                            "/models/memory/samples/0/peakBytes",
                            "/iteration/timeMs",
                            "/iteration/byPhaseMs/forward",
                            "/iteration/betweenOperationsMs",
                            "/throughput/samplesPerSecond",
                            "/memory/peakBytes",
                            "/memory/byCategory/weights",
                            "/memory/overTime",
                            "/memory/overTime/recordedMs",
                            "/memory/overTime/timeMs",
                            "/memory/overTime/peak",
                            "/memory/overTime/byCategory/inputs",
                            "/memory/overTime/byCategory/weights/1",
                            "/lines",
                            "/lines/0/line",
                            "/lines/0/timeMs/self",
                            "/lines/0/memoryBytes/atPeak",
                            "/other",
                            "/unusedGradients/0/parameters",
                            "/closure/scale",
                            "/breakdown/name",
                            "/breakdown/children",
                            "/breakdown/children/0/timeMs",
                            "/warnings",
                            "/skipped",
                            "/skipped/0/batchSize",
                            "/skipped/0/kind",
                            "/skipped/0/message"}) {
    const Json::json_pointer at(place);
    for (const Json& wrong : {Json(nullptr), Json(-1), Json::object({{"a", 1}}), Json(true)}) {
      const bool is_unknown = wrong.is_null() && may_be_unknown.contains(place);
      Json damaged = good;
      damaged[at] = wrong;
      if (!is_unknown) {
        expect_refused(damaged.dump());
      }
    }
  }
}

TEST(ReadReport, RefusesFiguresOutOfRange) {
  const Json good = Json::parse(json_report(kept_profile()));
  const auto with = [&](const char* place, const Json& value) {
    Json damaged = good;
    damaged[Json::json_pointer(place)] = value;
    return damaged.dump();
  };
  expect_refused(with("/models/time/samples/0/timeMs", 0));
  expect_refused(with("/models/time/samples/0/lowMs", 1e9));
  expect_refused(with("/models/time/samples/0/highMs", 0));
  expect_refused(with("/models/time/samples/0/batchSize", 0));
  expect_refused(with("/models/time/samples/0/batchSize", 1 << 25));
  expect_refused(with("/models/time/samples/0/batchSize", 1.5));
  expect_refused(with("/models/time/samples", Json::array()));
  expect_refused(with("/models/memory/samples", Json::array()));
  expect_refused(with("/skipped", Json(std::vector<int>(2000, 1))));
  expect_refused(with("/memory/overTime/peak", 0));
  expect_refused(with("/memory/overTime/timeMs/1", 1e9));
  expect_refused(with("/version", kReportVersion - 1));
  expect_refused(with("/version", kReportVersion + 1));
}

}  // namespace
}  // namespace ridgeline::report
