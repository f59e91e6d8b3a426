#include "ingest/nsys_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/build_profile.h"
#include "ingest/import_error.h"
#include "tests/unit/ingest/sqlite_report.h"

namespace ridgeline::ingest {
namespace {

using analysis::Phase;
using analysis::Profile;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::import;
using ::testing::Not;
using testing::read;
using testing::Report;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::uint32_t kNoEvent = 0xffffffffU;

/// Steps of 100 µs, 20 apart: forward launches a kernel of 20 µs, autograd's thread one of 30, and the optimizer, on
/// another stream, one of 10; then the host waits for the device.
Report training(int steps = 4) {
  Report report;
  for (int i = 0; i < steps; ++i) {
    const double at = 1000 + 120 * i;
    const int id = 10 * i;
    report.range(fmt::format("step {}", i), at, at + 100);
    report.range(fmt::format("data copy in {}", i), at, at + 10);
    report.call("cudaMemcpyAsync_v3020", at + 1, at + 4, id).copy(at + 5, at + 9, id, 4096);
    report.range("forward", at + 10, at + 30);
    report.call("cudaLaunchKernel_v7000", at + 12, at + 14, id + 1).kernel("gemm", at + 15, at + 35, id + 1);
    report.call("cudaLaunchKernel_v7000", at + 40, at + 42, id + 2, 2)
        .kernel("gemm_backward", at + 43, at + 73, id + 2);
    report.range("optimizer", at + 60, at + 80);
    report.call("cudaLaunchKernel_v7000", at + 62, at + 64, id + 3).kernel("adam", at + 74, at + 84, id + 3, 9);
    report.call("cudaStreamSynchronize_v3020", at + 81, at + 85, id + 4);
    report.synchronisation(at + 81, at + 85, id + 4, 9, kNoEvent);
  }
  return report;
}

std::vector<std::string> names_of(const Trace& trace, EventKind kind) {
  std::vector<std::string> names;
  for (const TraceEvent& event : trace.events) {
    if (event.kind == kind) {
      names.push_back(trace.strings[event.name]);
    }
  }
  return names;
}

double ms(const Profile& profile, Phase phase) { return profile.iteration.by_phase[static_cast<std::size_t>(phase)]; }

std::string error_of(const std::string& bytes, const TraceLimits& limits = {}, const NsysOptions& options = {}) {
  try {
    read(bytes, options, limits);
  } catch (const ImportError& problem) {
    return problem.what();
  }
  return "";
}

TEST(NsysReport, AStepGoesFromOneRangeToTheNext) {
  Report report = training(4);
  const analysis::RunInput input = import(report);
  EXPECT_THAT(input.runs[0].times_ns, ElementsAre(120'000, 120'000, 120'000));
  EXPECT_THAT(input.warnings,
              Contains(HasSubstr("from the start of one NVTX range “step #” to the start of the next")));
  EXPECT_THAT(input.warnings, Contains(HasSubstr("report of Nsight Systems")));
  EXPECT_THAT(input.warnings, Each(Not(HasSubstr("with_stack"))));
}

TEST(NsysReport, LeavesOutTheFirstOfAnEvenNumberOfSteps) {
  Report report = training(3);
  EXPECT_THAT(import(report).runs[0].times_ns, ElementsAre(120'000));
}

TEST(NsysReport, ShowsTheStepsThatAreLikeTheOneInTheMiddle) {
  Report report;
  double at = 0;
  int id = 0;
  for (const double length : {1000.0, 910.0, 100.0, 880.0, 1000.0, 10.0, 900.0}) {
    report.range(fmt::format("step {}", ++id), at, at + 5);
    report.call("cudaLaunchKernel_v7000", at + 1, at + 2, id).kernel("k", at + 3, at + 8, id);
    at += length;
  }
  report.range("step 8", at, at + 5);
  const analysis::RunInput input = import(report);
  EXPECT_THAT(input.runs[0].times_ns, SizeIs(7)) << "all of them";
  EXPECT_EQ(input.runs[0].recording.iteration_start().size(), 3U) << "880, 900 and 910";
  EXPECT_THAT(input.warnings, Contains(HasSubstr("in the middle takes 0.9 ms, the mean is 0.6857 ms")));
  EXPECT_THAT(input.warnings, Contains(HasSubstr("the 3 (of 7) nearest")));
  EXPECT_NEAR(analysis::build_profile(input).iteration.ms.value, 0.9, 1e-9);
}

TEST(NsysReport, ASingleRangeIsTheIteration) {
  Report report = training(1);
  EXPECT_THAT(import(report).runs[0].times_ns, ElementsAre(100'000));
}

TEST(NsysReport, HasTheDeviceByStreamsAndPhases) {
  Report report = training();
  const analysis::RunInput input = import(report);
  const Profile profile = analysis::build_profile(input);
  ASSERT_TRUE(profile.device.has_value());
  EXPECT_NEAR(profile.device->kernel_ms, 0.060, 1e-9);
  EXPECT_NEAR(profile.device->copy_ms, 0.004, 1e-9);
  const auto kernel = [&](std::string_view name) {
    const auto found = std::ranges::find(profile.device->kernels, name, &analysis::Kernel::name);
    return found == profile.device->kernels.end() ? 0 : found->ms;
  };
  EXPECT_NEAR(kernel("gemm<float>"), 0.020, 1e-9) << "by its demangled name";
  EXPECT_NEAR(kernel("gemm_backward<float>"), 0.030, 1e-9);
  const recording::Recording& recording = input.runs.front().recording;
  EXPECT_THAT(std::set<std::uint32_t>(recording.activity_stream().begin(), recording.activity_stream().end()),
              ElementsAre(7, 9));
}

TEST(NsysReport, TellsPhasesByRangesAndBackwardByItsThread) {
  Report report = training();
  const Profile profile = analysis::build_profile(import(report));
  EXPECT_NEAR(ms(profile, Phase::kData), 0.010, 1e-9);
  EXPECT_GE(ms(profile, Phase::kForward), 0.020 - 1e-9);
  EXPECT_GE(ms(profile, Phase::kOptimizer), 0.020 - 1e-9);
  const Trace trace = read(report.bytes());
  EXPECT_THAT(names_of(trace, EventKind::kOp), ElementsAre("backward", "backward", "backward", "backward"));
}

TEST(NsysReport, NamesRangesAndCallsWithoutTheirNumbers) {
  const Trace trace = read(training().bytes());
  EXPECT_THAT(names_of(trace, EventKind::kAnnotation), Each(::testing::AnyOf("data copy in", "forward", "optimizer")));
  EXPECT_THAT(names_of(trace, EventKind::kCall), Contains("cudaLaunchKernel"));
  EXPECT_THAT(names_of(trace, EventKind::kCall), Each(Not(HasSubstr("_v"))));
  EXPECT_THAT(names_of(trace, EventKind::kCopy), Each("Memcpy HtoD (Pinned -> Device)"));
}

TEST(NsysReport, KeepsTheNumbersOfRangesThatEachStepHas) {
  Report report = training();
  for (int i = 0; i < 4; ++i) {
    report.range("layer 0", 1015 + 120 * i, 1018 + 120 * i).range("layer 1", 1020 + 120 * i, 1022 + 120 * i);
  }
  EXPECT_THAT(names_of(read(report.bytes()), EventKind::kAnnotation), ::testing::IsSupersetOf({"layer 0", "layer 1"}));
}

TEST(NsysReport, LeavesOutRangesAroundSteps) {
  Report report = training();
  report.range("Epoch 2", 900, 2000).range("Train", 950, 1900);
  const Trace trace = read(report.bytes());
  EXPECT_THAT(names_of(trace, EventKind::kAnnotation), Not(Contains("Epoch 2")));
  EXPECT_THAT(names_of(trace, EventKind::kAnnotation), Not(Contains("Train")));
  EXPECT_THAT(names_of(trace, EventKind::kStep), SizeIs(3));
}

TEST(NsysReport, WaitsForTheDeviceWhereTheHostSynchronises) {
  Report report = training();
  const Profile profile = analysis::build_profile(import(report));
  const auto wait = [&](analysis::Wait what) { return profile.device->waits[static_cast<std::size_t>(what)]; };
  EXPECT_NEAR(wait(analysis::Wait::kDeviceBound), 0.003, 1e-9);  // 81 to 84
  EXPECT_NEAR(wait(analysis::Wait::kSync), 0.004, 1e-9);         // 84 to 85, and while the copy was asked for
}

TEST(NsysReport, ASynchronisationWithoutItsCallIsAWaitOfTheMainThread) {
  Report report;
  report.range("step 0", 0, 100).range("step 1", 110, 200).kernel("k", 20, 60, 1);
  report.synchronisation(40, 62, 7, 7, kNoEvent);  // a stream
  report.synchronisation(64, 66, 8, kNoEvent, 3);  // an event
  report.synchronisation(67, 68, 9, kNoEvent, 0);  // all
  report.synchronisation(70, 71, 10, 7, 3);        // a stream that waits for an event
  const Trace trace = read(report.bytes());
  EXPECT_THAT(names_of(trace, EventKind::kCall),
              ElementsAre("cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize"));
  for (const TraceEvent& event : trace.events) {
    if (event.kind == EventKind::kCall) {
      EXPECT_EQ(event.thread, trace.main_thread);
    }
  }
}

// ---- operations
// ------------------------------------------------------------------------------------------------------

TEST(NsysReport, UnderstandsTheRangesOfEmitNvtx) {
  Report report;
  for (int i = 0; i < 3; ++i) {
    const double at = 200 * i;
    report.range(fmt::format("Batch {}", i), at, at + 190);
    report.range(fmt::format("aten::linear, seq = {}, op_id = 5, sizes = [[1, 2]]", 7 + i), at + 10, at + 30);
    report.range("autograd::engine::evaluate_function: AddmmBackward0", at + 50, at + 90, 2);
    report.range(fmt::format("AddmmBackward0, seq = {}", 7 + i), at + 51, at + 89, 2);
    report.range("aten::mm", at + 52, at + 60, 2);
    report.call("cudaLaunchKernel_v7000", at + 53, at + 55, i, 2).kernel("gemm", at + 56, at + 76, i);
  }
  const Trace trace = read(report.bytes());
  EXPECT_THAT(names_of(trace, EventKind::kOp), Contains("aten::linear").Times(3));
  EXPECT_THAT(names_of(trace, EventKind::kOp), Not(Contains("backward"))) << "it was recorded";
  const Profile profile = analysis::build_profile(import(report));
  const auto linear = std::ranges::find(profile.breakdown.children, "linear", &analysis::Node::name);
  ASSERT_NE(linear, profile.breakdown.children.end());
  EXPECT_NEAR(linear->device_ms, 0.020, 1e-9) << "backward belongs to the forward operation with its number";
  EXPECT_NEAR(linear->by_phase[static_cast<std::size_t>(Phase::kForward)], 0.020, 1e-9);
}

// ---- steps
// -----------------------------------------------------------------------------------------------------------

TEST(NsysReport, FindsStepsByOtherRangesThatRepeat) {
  const auto period = [](const std::vector<std::string>& names) {
    Report report;
    for (int i = 0; i < 5; ++i) {
      double at = 300 * i;
      for (const std::string& name : names) {
        report.range(fmt::format(fmt::runtime(name), i), at, at + 20);
        at += 30;
      }
      report.kernel("k", at, at + 5, i);
    }
    return import(report).runs[0].times_ns;
  };
  EXPECT_THAT(period({"train_step", "validate 1"}), ElementsAre(300'000, 300'000, 300'000));
  EXPECT_THAT(period({"load {}", "compute"}), SizeIs(3));
  EXPECT_THAT(period({"forward", "Optimizer.step#SGD.step"}), Each(300'000));
  EXPECT_THAT(period({"forward", "other"}), Each(300'000));
}

TEST(NsysReport, FindsStepsByKernelsWithoutRanges) {
  Report report;
  for (int i = 0; i < 6; ++i) {
    const double at = 500 * i;
    for (int k = 0; k < 5; ++k) {
      const int id = 10 * i + k;
      report.call("cudaLaunchKernel_v7000", at + 20 * k, at + 20 * k + 3, id);
      report.kernel(k == 2 ? "loss" : "gemm", at + 20 * k + 5, at + 20 * k + 15, id);
    }
  }
  const analysis::RunInput input = import(report);
  EXPECT_THAT(input.runs[0].times_ns, ElementsAre(500'000, 500'000, 500'000, 500'000, 500'000));
  EXPECT_THAT(input.warnings, Contains(HasSubstr("kernel “loss<float>” recurs every time after 4 others")));
}

TEST(NsysReport, IsOneIterationWithoutAnythingThatRepeats) {
  Report report;
  report.call("cudaLaunchKernel_v7000", 10, 12, 1).kernel("once", 15, 40, 1);
  const analysis::RunInput input = import(report);
  EXPECT_THAT(input.runs[0].times_ns, ElementsAre(30'000));
  EXPECT_THAT(input.warnings, Contains(HasSubstr("no steps")));
}

// ---- processes
// -------------------------------------------------------------------------------------------------------

Report two_processes() {
  Report report;
  report.run("CREATE TABLE PROCESSES (globalPid INT, pid INT, name TEXT)");
  report.run(fmt::format("INSERT INTO PROCESSES VALUES ({}, 20, 'python')", (1ULL << 48U) | (20ULL << 24U)));
  for (const int pid : {10, 20}) {
    report.process(static_cast<std::uint64_t>(pid));
    for (int i = 0; i < (pid == 20 ? 5 : 3); ++i) {
      const double at = 100 * i * (pid == 20 ? 1 : 2);
      report.range(fmt::format("step {}", i), at, at + 90);
      report.call("cudaLaunchKernel_v7000", at + 10, at + 12, i).kernel("k", at + 20, at + 30, i, 7, pid / 10);
    }
  }
  report.process(30).range("a data loader", 0, 500);
  return report;
}

TEST(NsysReport, ReadsTheProcessWithMostSteps) {
  Report report = two_processes();
  const analysis::RunInput input = import(report);
  EXPECT_THAT(input.runs[0].times_ns, ElementsAre(100'000, 100'000, 100'000));
  EXPECT_THAT(input.warnings, Contains(HasSubstr("2 processes: 10, 20 (python). This is process 20, which has most")));
  const auto devices = input.runs[0].recording.activity_device();
  EXPECT_THAT(std::vector<std::uint32_t>(devices.begin(), devices.end()), Each(2U)) << "the same ids in both";
}

TEST(NsysReport, ReadsTheProcessThatIsNamed) {
  Report report = two_processes();
  EXPECT_THAT(import(report, {10}).runs[0].times_ns, ElementsAre(200'000));
  EXPECT_EQ(error_of(report.bytes(), {}, {77}), "The report has no process 77. It has 10, 20 (python).");
}

// ---- what may be missing
// ---------------------------------------------------------------------------------------------

TEST(NsysReport, NamesADeviceByCudasNumber) {
  Report report = training();
  report.run("INSERT INTO TARGET_INFO_GPU VALUES (3, 'NVIDIA A100', 42, 0), (0, 'another', 1, 3)");
  const analysis::RunInput input = import(report);
  EXPECT_EQ(input.environment.device_name, "NVIDIA A100");
  EXPECT_EQ(input.capacity_bytes, 42U);
}

TEST(NsysReport, EveryTableMayBeMissing) {
  for (const char* table :
       {"TARGET_INFO_GPU", "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL",
        "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "StringIds"}) {
    Report report = training(6);
    report.run(std::string("DROP TABLE ") + table);
    EXPECT_NO_THROW(analysis::build_profile(import(report))) << table;
  }
}

TEST(NsysReport, ColumnsMayBeMissing) {
  for (const char* column :
       {"NVTX_EVENTS DROP COLUMN domainId", "NVTX_EVENTS DROP COLUMN textId",
        "CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN demangledName", "CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN deviceId",
        "CUPTI_ACTIVITY_KIND_MEMCPY DROP COLUMN srcKind", "TARGET_INFO_GPU DROP COLUMN cuDevice"}) {
    Report report = training();
    report.run(std::string("ALTER TABLE ") + column);
    EXPECT_THAT(import(report).runs[0].times_ns, SizeIs(3)) << column;
  }
}

TEST(NsysReport, TextsOfRangesMayBeInStringIds) {
  Report report;
  report.run("INSERT INTO StringIds VALUES (1, 'step 1'), (2, 'step 2')");
  report.run(
      "INSERT INTO NVTX_EVENTS VALUES (0, 50000, 59, NULL, 1, NULL, 1, 0), (70000, 90000, 59, NULL, 1, NULL, 2, 0)");
  report.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, 0, 1, 1)");
  EXPECT_THAT(import(report).runs[0].times_ns, ElementsAre(70'000));
}

TEST(NsysReport, CountsRowsThatItCannotUse) {
  Report report = training();
  report.run("INSERT INTO NVTX_EVENTS VALUES (5000, NULL, 59, 'killed', 1, NULL, NULL, 0)");
  report.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (90, 20, 0, 7, 1, 0, 1, 1), ('x', 20, 0, 7, 1, 0, 1, 1)");
  const Trace trace = read(report.bytes());
  EXPECT_EQ(trace.losses.without_time, 2U);
  EXPECT_EQ(trace.losses.negative, 1U);
}

// ---- files that are refused
// ------------------------------------------------------------------------------------------

TEST(NsysReport, RefusesOtherDatabases) {
  Report report;
  for (const char* table :
       {"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"}) {
    report.run(std::string("DROP TABLE ") + table);
  }
  EXPECT_THAT(error_of(report.bytes()), HasSubstr("--trace cuda,nvtx"));
  report.run("DROP TABLE TARGET_INFO_GPU");
  EXPECT_THAT(error_of(report.bytes()), HasSubstr("no report of Nsight Systems"));
  EXPECT_THAT(error_of(report.bytes()), HasSubstr("nsys export --type sqlite"));
}

TEST(NsysReport, RefusesViewsInPlaceOfTables) {
  Report report;
  report.run("DROP TABLE NVTX_EVENTS");
  report.run(
      "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS "
      "start FROM n");
  report.call("cudaLaunchKernel_v7000", 10, 12, 1).kernel("once", 15, 40, 1);
  EXPECT_THAT(import(report).runs[0].times_ns, ElementsAre(30'000)) << "it was not read: that would not end";
}

TEST(NsysReport, NamesTheTableThatIsDamaged) {
  Report report = training(400);
  std::string bytes = report.bytes();
  ASSERT_GT(bytes.size(), 60'000U);
  std::fill(bytes.begin() + 40'000, bytes.end(), '\xee');
  const auto open = [&] { return error_of(bytes); };
  EXPECT_THAT(open(), HasSubstr("The SQLite file is damaged or cut off (table "));
  EXPECT_THAT(open(), HasSubstr("export it again"));
}

TEST(NsysReport, RefusesMoreEventsThanTheLimit) {
  TraceLimits limits;
  limits.events = 20;
  EXPECT_THAT(error_of(training().bytes(), limits), HasSubstr("more than 20 events"));
}

TEST(NsysReport, RefusesAReportWithNothingInIt) {
  Report report;
  EXPECT_THAT(error_of(report.bytes()), HasSubstr("no events that an import reads"));
}

TEST(NsysReport, KnowsAReportThatWasNotExported) {
  EXPECT_TRUE(is_unexported_report("/a/report1.nsys-rep", "something binary"));
  EXPECT_TRUE(is_unexported_report("report1.qdrep", ""));
  EXPECT_FALSE(is_unexported_report("trace.json", "{"));
  EXPECT_FALSE(is_unexported_report("exported.nsys-rep", std::string_view("SQLite format 3\0", 16)));
}

TEST(NsysReport, WritesTextsThatAreNoUtf8) {
  Report report = training();
  report.range("replaced", 1011, 1012)
      .run("UPDATE NVTX_EVENTS SET text = CAST(x'61ff62' AS TEXT) WHERE text = 'replaced'");
  const Trace trace = read(report.bytes());
  EXPECT_THAT(names_of(trace, EventKind::kAnnotation), Contains("a\uFFFDb"));
  EXPECT_EQ(trace.damage.not_utf8, 1U) << "told, as in traces";
}

}  // namespace
}  // namespace ridgeline::ingest
