#include "report/export/perfetto.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/unit/report/export/recorded_step.h"

namespace ridgeline::report {
namespace {

using nlohmann::json;
using testing::kMs;
using testing::RecordingBuilder;

std::vector<json> events(const json& trace, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase) {
      found.push_back(event);
    }
  }
  return found;
}

json trace_of(const testing::Exported& step, std::size_t most_events = kMostEvents) {
  return json::parse(perfetto_trace(step.recorded, step.profile, most_events));
}

json named(const json& trace, const std::string& name) {
  for (const json& event : events(trace, "X")) {
    if (event.at("name") == name) {
      return event;
    }
  }
  return nullptr;
}

TEST(PerfettoTrace, HasStepsAndOperationsWithWhereTheyBelong) {
  const json trace = trace_of(testing::exported(testing::two_steps(), 80e6));
  const json step = named(trace, "step 1");
  EXPECT_EQ(step["ts"], 0);
  EXPECT_EQ(step["dur"], 100'000);
  const json op = named(trace, "aten::addmm");
  EXPECT_EQ(op["ts"], 12'000);
  EXPECT_EQ(op["dur"], 26'000);
  EXPECT_EQ(op["args"]["line"], "net.py:3");
  EXPECT_EQ(op["args"]["module"], "net.layer (Linear)");
  EXPECT_EQ(op["args"]["phase"], "forward");
  const json backward = named(trace, "LinearBackward0");
  EXPECT_EQ(backward["args"]["line"], "net.py:3") << "backward belongs to the line of forward";
  EXPECT_EQ(backward["args"]["phase"], "backward");
}

/// In each row, a slice lies inside of another one or beside it: a viewer drops what does not.
TEST(PerfettoTrace, SlicesNest) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> rows;
  for (const json& event : events(trace_of(testing::exported(testing::two_steps(), 80e6)), "X")) {
    const double start = event["ts"].get<double>();
    rows[{event["pid"], event["tid"]}].emplace_back(start, start + event["dur"].get<double>());
  }
  EXPECT_EQ(rows.size(), 4U);  // steps, the thread, the stream, and what overlaps in it
  for (auto& [row, slices] : rows) {
    std::ranges::sort(slices, [](const auto& a, const auto& b) {
      return std::pair(a.first, -a.second) < std::pair(b.first, -b.second);
    });
    std::vector<double> open;
    for (const auto& [start, end] : slices) {
      while (!open.empty() && open.back() <= start) {
        open.pop_back();
      }
      EXPECT_TRUE(open.empty() || end <= open.back()) << start << " to " << end;
      open.push_back(end);
    }
  }
}

TEST(PerfettoTrace, CutsOffAnOperationThatOutlastsTheOneAroundIt) {
  RecordingBuilder builder;
  builder.iteration(0, 100 * kMs);
  const std::uint32_t outer = builder.op({"outer", 0, 10 * kMs, 40 * kMs});
  builder.op({"inner", 0, 20 * kMs, 41 * kMs, outer});
  EXPECT_EQ(named(trace_of(testing::exported(builder, 1e8)), "inner")["dur"], 20'000);
}

TEST(PerfettoTrace, MemoryPeaksAtThePeak) {
  const testing::Exported step = testing::exported(testing::two_steps(), 80e6);
  const json trace = trace_of(step);
  std::uint64_t most = 0;
  for (const json& event : events(trace, "C")) {
    if (event["name"] == "live memory") {
      most = std::max(most, event["args"]["bytes"].get<std::uint64_t>());
    }
  }
  EXPECT_EQ(most, step.profile.peak_bytes);
  EXPECT_EQ(most, 300U);
}

TEST(PerfettoTrace, ArrowsLeadFromCallsToTheirWork) {
  const json trace = trace_of(testing::exported(testing::two_steps(), 80e6));
  const auto starts = events(trace, "s");
  const auto ends = events(trace, "f");
  ASSERT_EQ(starts.size(), 4U);
  ASSERT_EQ(ends.size(), 4U);
  EXPECT_EQ(starts[0]["ts"], 15'000);
  EXPECT_EQ(ends[0]["ts"], 20'000);
  EXPECT_EQ(starts[0]["id"], ends[0]["id"]);
  EXPECT_EQ(ends[0]["pid"], 1000);
  EXPECT_EQ(named(trace, "gemm")["args"]["module"], "net.layer (Linear)");
}

TEST(PerfettoTrace, KeepsTheStepWithThePeakWhenThereIsNoRoom) {
  const json trace = trace_of(testing::exported(testing::two_steps(), 80e6), 1);
  EXPECT_TRUE(named(trace, "step 1").is_null());
  EXPECT_EQ(named(trace, "step 2")["ts"], 0);
  EXPECT_THAT(trace["otherData"]["times"].get<std::string>(), ::testing::HasSubstr("1 of 2 recorded steps"));
}

TEST(PerfettoTrace, TakesAnyName) {
  RecordingBuilder builder;
  builder.iteration(0, 100 * kMs);
  const std::string name = "a \"quoted\" \\ name\n\xff";
  builder.op({name, 0, 10 * kMs, 40 * kMs + 1});
  const json trace = trace_of(testing::exported(builder, 1e8));
  EXPECT_EQ(named(trace, "a \"quoted\" \\ name\n\uFFFD")["dur"], 30'000.001);
}

}  // namespace
}  // namespace ridgeline::report
