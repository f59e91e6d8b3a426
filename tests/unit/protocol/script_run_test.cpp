#include "protocol/script_run.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridgeline::protocol {
namespace {

using nlohmann::json;

const json kScript = {
    {"boundary", {{"kind", "line"}, {"requested", true}, {"optimizers", {1, 1, 2}}, {"file", "/a.py"}, {"line", 3}}},
    {"phases", {{{"name", "evaluation"}, {"count", 2}, {"ns", 1.5e6}}}},
    {"loading",
     {{"steps", 4},
      {"stepsNs", 4e6},
      {"waitNs", 1e6},
      {"batches", 8},
      {"workers", 2},
      {"workerBatches", 9},
      {"workerNs", 7e6},
      {"workerWallNs", 4e6},
      {"threads", 1},
      {"processors", 8},
      {"firstPass", {{"batches", 1}, {"ns", 5}}},
      {"laterPasses", {{"batches", 0}, {"ns", 0}}}}},
    {"samples", {{"batchSize", 24}, {"steps", 9}, {"mean", 16.5}, {"least", 8}, {"most", 24}, {"doubt", "a guess"}}},
    {"whole",
     {{"steps", 6},
      {"ns", 9e6},
      {"samples", 96},
      {"usualNs", 4e6},
      {"usualSamples", 64},
      {"isWhole", true},
      {"parts", {{{"name", "other work"}, {"count", 2}, {"ns", 5e6}}}}}},
    {"leftOut", {{{"reason", "evaluation"}, {"count", 1}, {"ns", 2e6}, {"peakBytes", 70}}}},
    {"largest", {{"steps", 4}, {"bytes", 90}, {"samples", 24}, {"reason", ""}}},
    {"loaderSizes", {8}},
    {"sizesObstacle", ""}};

TEST(ScriptRun, IsRead) {
  const ScriptRun run = script_run_from(kScript);
  EXPECT_EQ(run.boundary.end, StepEnd::kLine);
  EXPECT_EQ(run.boundary.optimizers, (std::vector<int>{1, 1, 2}));
  EXPECT_EQ(run.boundary.file, "/a.py");
  EXPECT_EQ(run.phases.at(0).count, 2U);
  ASSERT_TRUE(run.loading.has_value());
  EXPECT_EQ(run.loading->by_workers.batches, 9U);
  EXPECT_EQ(run.loading->first_pass.ns, 5);
  EXPECT_EQ(run.samples.batch_size, 24);
  EXPECT_EQ(run.samples.doubt, "a guess");
  EXPECT_EQ(run.whole.value().parts.at(0).count, 2U);
  EXPECT_EQ(run.left_out.at(0).peak_bytes, 70U);
  EXPECT_EQ(run.largest.samples, 24);
  EXPECT_EQ(run.loader_sizes, std::vector<int>{8});
  json without = kScript;
  without["loading"] = nullptr;
  EXPECT_FALSE(script_run_from(without).loading.has_value());
}

TEST(ScriptRun, IsRefusedWhereItIsInvalid) {
  const auto refuse = [](const char* pointer, const json& value) {
    json changed = kScript;
    changed[json::json_pointer(pointer)] = value;
    EXPECT_ANY_THROW(script_run_from(changed)) << pointer << " " << value;
  };
  refuse("/boundary/kind", "elsewhere");
  refuse("/boundary/line", -1);
  refuse("/boundary/optimizers", std::vector<int>(kMaxOptimizerSteps + 1, 1));
  refuse("/boundary/optimizers/0", 0);
  refuse("/phases/0/ns", -1);
  refuse("/phases/0/count", -1);
  refuse("/phases", std::vector<json>(kMaxScriptItems + 1, kScript.at("phases").at(0)));
  refuse("/samples/least", 25);
  refuse("/samples/batchSize", 0);
  refuse("/whole/ns", -1);
  refuse("/whole/parts", std::vector<json>(kMaxScriptItems + 1, kScript.at("phases").at(0)));
  refuse("/leftOut", std::vector<json>(kMaxScriptItems + 1, kScript.at("leftOut").at(0)));
  refuse("/largest/samples", -1);
  refuse("/loading/workers", -2);
  refuse("/loading/waitNs", "long");
  refuse("/loaderSizes/0", 0);
  refuse("/sizesObstacle", 5);
}

TEST(ScriptRun, HasTextsOfBoundedLength) {
  json changed = kScript;
  changed["sizesObstacle"] = std::string(100'000, 'a');
  EXPECT_EQ(script_run_from(changed).sizes_obstacle.size(), 4096U);
}

}  // namespace
}  // namespace ridgeline::protocol
