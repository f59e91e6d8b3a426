#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/build_profile.h"
#include "analysis/values/idle_cause.h"
#include "tests/unit/ingest/sqlite_report.h"
#include "tests/unit/ingest/trace_text.h"

namespace ridgeline::ingest {
namespace {

using ::testing::Contains;
using testing::event;
using ::testing::HasSubstr;
using testing::import;
using testing::Report;
using ::testing::SizeIs;

using Events = std::vector<std::string>;

/// Steps of 100 µs, each with two kernels of 20 µs.
Events marked_steps(int count, std::uint64_t first_correlation = 1, double at = 0) {
  Events events;
  std::uint64_t correlation = first_correlation;
  for (int i = 0; i < count; ++i, at += 100) {
    events.push_back(event("user_annotation", fmt::format("ProfilerStep#{}", i), at, 100));
    for (const double launch : {10.0, 50.0}) {
      const std::string id = fmt::format(R"("correlation": {}, "device": 0, "stream": 7)", correlation++);
      events.push_back(event("cpu_op", "aten::mm", at + launch, 8));
      events.push_back(event("cuda_runtime", "cudaLaunchKernel", at + launch + 1, 2, id));
      events.push_back(event("kernel", "gemm", at + launch + 5, 20, id));
    }
  }
  return events;
}

void erase_if_has(Events& events, std::string_view text, std::size_t from = 0) {
  const auto begin = events.begin() + static_cast<std::ptrdiff_t>(from);
  events.erase(
      std::remove_if(begin, events.end(), [&](const std::string& one) { return one.find(text) != std::string::npos; }),
      events.end());
}

TEST(LostRecords, StepsWithoutTheirKernelsAreLeftOut) {
  Events events = marked_steps(4);
  erase_if_has(events, "\"kernel\"", 14);
  const analysis::RunInput input = import(events);
  EXPECT_THAT(input.runs[0].times_ns, SizeIs(2));
  EXPECT_THAT(input.warnings, Contains(HasSubstr("2 of the 4 steps are left out: records of their kernels were lost")));
  EXPECT_NEAR(analysis::build_profile(input).device->kernel_ms, 0.04, 1e-12);
  erase_if_has(events, "cuda_runtime", 14);
  EXPECT_THAT(import(events).runs[0].times_ns, SizeIs(2)) << "launches were lost, too";
}

TEST(LostRecords, AllStepsStayWhereAllLostSome) {
  Events events = marked_steps(3);
  for (const char* lost : {R"("correlation": 1,)", R"("correlation": 4,)", R"("correlation": 5,)"}) {
    std::erase_if(events, [&](const std::string& one) {
      return one.find("\"kernel\"") != std::string::npos && one.find(lost) != std::string::npos;
    });
  }
  EXPECT_THAT(import(events).runs[0].times_ns, SizeIs(3));
}

TEST(LostRecords, WithoutAnyKernelTheDeviceIsStillCuda) {
  Events events = marked_steps(3);
  erase_if_has(events, "\"kernel\"");
  const analysis::RunInput input = import(events);
  EXPECT_EQ(input.environment.device, "cuda");
  EXPECT_THAT(input.warnings, Contains(HasSubstr("None of the 6 launches has a kernel in the file")));
  const analysis::Profile profile = analysis::build_profile(input);
  EXPECT_FALSE(analysis::has_all_kernels(profile));
}

TEST(LostRecords, NumbersOfLaunchesMayTakeMoreThan32Bits) {
  const std::uint64_t many = (std::uint64_t{1} << 32U) + 7;
  const analysis::RunInput input = import(marked_steps(3, many));
  const auto calls = input.runs[0].recording.activity_call();
  EXPECT_THAT(std::vector<std::uint32_t>(calls.begin(), calls.end()), ::testing::ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(LostRecords, TimesBeforeZeroAreTimes) {
  const analysis::RunInput input = import(marked_steps(3, 1, -150));
  EXPECT_THAT(input.runs[0].times_ns, SizeIs(3));
  EXPECT_THAT(input.warnings, Contains(HasSubstr("with a time before zero")));
}

TEST(LostRecords, AnActivityThatOutlastsLaterOnesOfItsStreamIsNoFact) {
  Events events = marked_steps(5);
  const std::string right = event("kernel", "gemm", 215, 20, R"("correlation": 5, "device": 0, "stream": 7)");
  const auto kernel = std::ranges::find(events, right);
  ASSERT_NE(kernel, events.end());
  *kernel = event("kernel", "gemm", 215, 450'000'000'000, R"("correlation": 5, "device": 0, "stream": 7)");
  const analysis::RunInput input = import(events);
  EXPECT_THAT(input.warnings, Contains(HasSubstr("“gemm” lasts 5.21 days")));
  EXPECT_THAT(input.runs[0].times_ns, SizeIs(4)) << "its step lacks a kernel";
  EXPECT_NEAR(analysis::build_profile(input).device->kernel_ms, 0.04, 1e-12);
  *kernel = event("kernel", "gemm", 215, 200, R"("correlation": 5, "device": 0, "stream": 7)");
  EXPECT_THAT(import(events).runs[0].times_ns, SizeIs(4)) << "also where it is not long";
  *kernel = event("kernel", "gemm", 215, 45, R"("correlation": 5, "device": 0, "stream": 7)");
  EXPECT_THAT(import(events).runs[0].times_ns, SizeIs(5)) << "neighbours may overlap";
}

TEST(LostRecords, AnEventFarFromAllOthersIsNoPartOfTheIteration) {
  Events events = marked_steps(3);
  erase_if_has(events, "ProfilerStep");
  events.push_back(event("cpu_op", "aten::late", 9e9, 5));
  EXPECT_LT(import(events).runs[0].times_ns[0], 1e6);
}

TEST(LostRecords, GraphsThatAreTracedAsAWholeAreWork) {
  Report report;
  report.run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, graphId INT, streamId INT, "
      "correlationId INT, globalPid INT)");
  report.run("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL");
  for (int i = 0; i < 4; ++i) {
    report.range(fmt::format("step {}", i), 100 * i, 100 * i + 95);
    report.call("cudaGraphLaunch_v10000", 100 * i + 5, 100 * i + 10, i);
    report.run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES ({}, {}, 0, 3, 7, {}, {})",
                           (100 * i + 10) * 1000, (100 * i + 90) * 1000, i,
                           (std::uint64_t{1} << 48U) | (std::uint64_t{4242} << 24U)));
  }
  const analysis::RunInput input = import(report);
  const analysis::Profile profile = analysis::build_profile(input);
  ASSERT_TRUE(profile.device.has_value());
  EXPECT_NEAR(profile.device->kernel_ms, 0.08, 1e-12);
  EXPECT_EQ(profile.device->kernels.front().name, "CUDA graph 3");
  EXPECT_TRUE(profile.device->idle_is_known());
  EXPECT_THAT(input.warnings, Contains(HasSubstr("--cuda-graph-trace=node")));
}

TEST(LostRecords, AGraphOfWhichNothingWasRecordedIsNoIdleTime) {
  Events events;
  for (int i = 0; i < 3; ++i) {
    events.push_back(event("user_annotation", fmt::format("ProfilerStep#{}", i), 100 * i, 100));
    events.push_back(event("cpu_op", "aten::copy_", 100 * i + 5, 20));
    const std::string id = fmt::format(R"("correlation": {}, "device": 0, "stream": 7)", 2 * i + 1);
    events.push_back(event("cuda_runtime", "cudaLaunchKernel", 100 * i + 6, 2, id));
    events.push_back(event("kernel", "copy", 100 * i + 10, 5, id));
    events.push_back(
        event("cuda_runtime", "cudaGraphLaunch", 100 * i + 20, 5, fmt::format(R"("correlation": {})", 2 * i + 2)));
  }
  const analysis::Profile profile = analysis::build_profile(import(events));
  EXPECT_FALSE(profile.device->idle_is_known());
}

}  // namespace
}  // namespace ridgeline::ingest
