#include "editor/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ridgeline::editor {
namespace {

using protocol::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Settings read(const Json& section, std::vector<std::string>* problems = nullptr) {
  std::vector<std::string> found;
  Settings settings = read_settings(section, found);
  if (problems != nullptr) {
    *problems = found;
  } else {
    EXPECT_THAT(found, IsEmpty()) << section;
  }
  return settings;
}

TEST(Settings, HaveDefaults) {
  for (const Json& nothing : {Json(), Json::object(), Json::parse(R"({"python": null, "unknown": 3})")}) {
    const Settings settings = read(nothing);
    EXPECT_EQ(settings.python, "");
    EXPECT_EQ(settings.time_budget_seconds, 10);
    EXPECT_TRUE(settings.profile_on_save);
    EXPECT_TRUE(settings.tries_batch_sizes());
    EXPECT_EQ(settings.inlay_hints, ShownHints::kHot);
    EXPECT_THAT(settings.advice, ::testing::Each(true));
  }
}

TEST(Settings, TakePackagesByTheirImportNames) {
  EXPECT_THAT(read(Json::parse(R"({"code": ["transformers", "timm.layers"]})")).code,
              ElementsAre("transformers", "timm.layers"));
  for (const char* wrong : {R"({"code": "transformers"})", R"({"code": [3]})", R"({"code": ["../a"]})",
                            R"({"code": [""]})", R"({"code": {"a": 1}})"}) {
    std::vector<std::string> problems;
    EXPECT_THAT(read(Json::parse(wrong), &problems).code, IsEmpty()) << wrong;
    EXPECT_THAT(problems, ElementsAre(HasSubstr("ridgeline.code must be a list of packages"))) << wrong;
  }
  EXPECT_THAT(read(Json::parse(R"({"code": ["timm"]})")).request("/e.py").code, ElementsAre("timm"));
}

TEST(Settings, AreRead) {
  const Settings settings = read(Json::parse(R"({
    "python": "/venv/bin/python", "projectRoot": "/project", "device": "cpu", "batchSizes": [8, 16], "timeBudget": 2.5,
    "timeLimit": 60, "profileOnSave": false, "saveTimeBudget": 0.5, "saveTimeLimit": 20,
    "run": {"arguments": ["--epochs", "1"], "folder": "/data"},
    "inlayHints": {"show": "none", "threshold": 0.05, "format": "memory"}, "advice": {"hot-line": false}})"));
  EXPECT_EQ(settings.python, "/venv/bin/python");
  EXPECT_EQ(settings.project_root, "/project");
  EXPECT_EQ(settings.device, "cpu");
  EXPECT_THAT(settings.batch_sizes, ElementsAre(8, 16));
  EXPECT_EQ(settings.time_limit_seconds, 60);
  EXPECT_FALSE(settings.profile_on_save);
  EXPECT_TRUE(settings.try_batch_sizes);
  EXPECT_FALSE(settings.tries_batch_sizes());
  EXPECT_FALSE(read(Json::parse(R"({"tryBatchSizes": false})")).tries_batch_sizes());
  EXPECT_EQ(settings.save_time_budget_seconds, 0.5);
  EXPECT_EQ(settings.save_time_limit_seconds, 20);
  EXPECT_THAT(settings.run_arguments, ElementsAre("--epochs", "1"));
  EXPECT_EQ(settings.run_folder, "/data");
  EXPECT_EQ(settings.inlay_hints, ShownHints::kNone);
  EXPECT_EQ(settings.inlay_hint_threshold, 0.05);
  EXPECT_EQ(settings.inlay_hint_format, report::LabelFormat::kMemory);
  EXPECT_FALSE(settings.advice[static_cast<std::size_t>(analysis::AdviceKind::kHotLine)]);
  EXPECT_TRUE(settings.advice[static_cast<std::size_t>(analysis::AdviceKind::kWillNotFit)]);
  const app::ProfileRequest request = settings.request("/project/entry.py");
  EXPECT_EQ(request.entry, "/project/entry.py");
  EXPECT_EQ(request.time_budget_seconds, 2.5);
  EXPECT_EQ(request.time_limit.count(), 60);
}

TEST(Settings, ReadSizesOfMemory) {
  const auto bytes = [](const Json& value) { return read({{"memoryLimit", value}}).memory_limit_bytes; };
  EXPECT_EQ(bytes(4096), 4096U);
  EXPECT_EQ(bytes("8GiB"), std::uint64_t{8} << 30U);
  EXPECT_EQ(bytes("1.5 GiB"), std::uint64_t{3} << 29U);
  EXPECT_EQ(bytes("512MB"), 512'000'000U);
  EXPECT_EQ(bytes("100"), 100U);
  EXPECT_EQ(bytes(""), 0U);
}

TEST(Settings, NameWhatIsWrongAndKeepTheDefault) {
  for (const char* text : {R"({"python": 3})", R"({"device": "gpu"})", R"({"batchSizes": [0]})", R"({"batchSizes": 8})",
                           R"({"batchSizes": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]})", R"({"timeBudget": 0})",
                           R"({"timeBudget": 1e300})", R"({"memoryLimit": "much"})", R"({"memoryLimit": -1})",
                           R"({"memoryLimit": "-8GiB"})", R"({"memoryLimit": "8 parsecs"})", R"({"profileOnSave": 1})",
                           R"({"inlayHints": {"threshold": 2}})", R"({"inlayHints": {"format": "all"}})",
                           R"({"inlayHints": {"show": true}})", R"({"advice": {"hot-line": "no"}})"}) {
    std::vector<std::string> problems;
    const Settings settings = read(Json::parse(text), &problems);
    ASSERT_EQ(problems.size(), 1U) << text;
    EXPECT_THAT(problems[0], HasSubstr("ridgeline."));
    EXPECT_EQ(settings.time_budget_seconds, 10);
    EXPECT_EQ(settings.memory_limit_bytes, 0U);
    EXPECT_THAT(settings.batch_sizes, IsEmpty());
  }
}

TEST(Settings, IgnoreValuesOfTheWrongType) {
  for (const Json& section : {Json("text"), Json(3), Json::array({1, 2}), Json::parse(R"({"inlayHints": [1]})")}) {
    EXPECT_EQ(read(section).time_budget_seconds, 10);
  }
}

}  // namespace
}  // namespace ridgeline::editor
