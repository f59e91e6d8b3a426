// Ranks of a job from traces of torch.profiler.
#include "jobs/replay/traced_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ingest/import_rank.h"
#include "jobs/clocks/one_clock.h"
#include "jobs/record/rank_figures.h"
#include "tests/unit/ingest/trace_text.h"

namespace ridgeline::jobs {
namespace {

using ingest::testing::event;
using ::testing::HasSubstr;

constexpr int kSteps = 8;
constexpr double kPeriod = 1000;  ///< µs

/// What a rank does in each step, in µs: a kernel of `forward`, then an all-reduce beside a kernel of 100, of which the
/// last 50 have nothing beside them once both ranks are there.
struct RankOf {
  int rank = 0;
  double forward = 300;
  double other_forward = 300;
  double clock = 0;  ///< added to all times
  double ends = 0;   ///< the all-reduce, since the step began; 0: as said
  std::string group = R"("0")";
  std::string ranks = "[0, 1]";
  bool is_old = false;  ///< before torch 2.2
  std::string kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
  std::string operation = "";  ///< that launches it; empty: none was recorded
};

std::string kernel(const std::string& name, double start, double dur, int correlation, int stream,
                   const std::string& more = "") {
  return event("kernel", name, start, dur,
               fmt::format(R"("correlation": {}, "device": {}, "stream": {}{})", correlation, 0, stream, more));
}

std::vector<std::string> events_of(const RankOf& rank) {
  std::vector<std::string> events;
  for (int step = 0; step < kSteps; ++step) {
    const double start = 10'000 + kPeriod * step + rank.clock;
    const double both = start + 10 + std::max(rank.forward, rank.other_forward);
    const double arrives = start + 10 + rank.forward;
    const double ends = rank.ends > 0 ? start + rank.ends : std::max(arrives + 100, both) + 50;
    const int id = 10 * step;
    const std::string arguments = rank.is_old
                                      ? ""
                                      : fmt::format(R"(, "Collective name": "allreduce", "In msg nelems": 1000, )"
                                                    R"("dtype": "Float", "Process Group Name": {}, )"
                                                    R"("Process Group Ranks": "{}")",
                                                    rank.group, rank.ranks);
    events.push_back(event("user_annotation", fmt::format("ProfilerStep#{}", 5 + step), start, kPeriod));
    for (int call = 0; call < 3; ++call) {
      events.push_back(event("cuda_runtime", "cudaLaunchKernel", start + 1 + 2 * call, 1,
                             fmt::format(R"("correlation": {})", id + call)));
    }
    if (!rank.operation.empty()) {
      events.push_back(event("cpu_op", rank.operation, start + 4.5, 2));
    }
    events.push_back(kernel("gemm", start + 10, rank.forward, id, 7));
    events.push_back(kernel("gemm_backward", arrives, 100, id + 1, 7));
    events.push_back(kernel(rank.kernel, arrives, ends - arrives, id + 2, 20 + rank.rank, arguments));
  }
  return events;
}

RankTrace trace_of(const RankOf& rank, const std::string& host = "", int world_size = 2) {
  const std::string head =
      fmt::format(R"("distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}}, )", rank.rank, world_size);
  const auto events = events_of(rank);
  const ingest::Trace trace = ingest::read_trace(ingest::testing::bytes_of(ingest::testing::trace_of(events, head)));
  analysis::RunInput input = ingest::testing::import(events, head);
  return {fmt::format("rank{}.json", rank.rank), host, ingest::traced_rank(trace),
          std::move(input.runs.front().recording), input.scope};
}

TracedJob job_of(const RankOf& first, const RankOf& second, const std::string& other_host = "") {
  std::vector<RankTrace> traces;
  traces.push_back(trace_of(second, other_host));
  traces.push_back(trace_of(first, other_host.empty() ? "" : "first"));
  auto job = traced_job(std::move(traces));
  EXPECT_TRUE(job) << job.error().message();
  return job ? std::move(*job) : TracedJob{};
}

TEST(TracedJob, SplitsTheStepIntoWhatTheDeviceComputesAndWhatItWaitsFor) {
  const TracedJob job =
      job_of({.rank = 0, .forward = 300, .other_forward = 500}, {.rank = 1, .forward = 500, .other_forward = 300});
  ASSERT_EQ(job.records.size(), 2U);
  EXPECT_EQ(job.records[0].iterations.front().step, 5);
  ASSERT_EQ(job.records[0].collectives.size(), static_cast<std::size_t>(kSteps));
  EXPECT_EQ(job.records[0].collectives[0].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(job.records[0].collectives[0].bytes, 4000U);
  EXPECT_EQ(job.records[0].collectives[3].sequence, job.records[1].collectives[3].sequence);
  const auto figures = rank_figures(job.records);
  ASSERT_EQ(figures.size(), 2U);
  // Rank 0 arrives 0.2 ms early: 0.1 of its all-reduce are beside its kernel, 0.1 wait for rank 1, 0.05 are the rest.
  EXPECT_NEAR(figures[0].exposed_ms, 0.15, 1e-6);
  EXPECT_NEAR(figures[0].hidden_ms, 0.1, 1e-6);
  ASSERT_TRUE(figures[0].waiting_ms.has_value());
  EXPECT_NEAR(*figures[0].waiting_ms, 0.1, 1e-6);
  EXPECT_NEAR(figures[1].exposed_ms, 0.05, 1e-6);
  EXPECT_NEAR(*figures[1].waiting_ms, 0, 1e-6);
  EXPECT_NEAR(figures[1].own_ms() - figures[0].own_ms(), 0.1, 1e-6);
  const auto straggler = find_straggler(job.records, {});
  ASSERT_TRUE(straggler.has_value());
  EXPECT_EQ(straggler->rank, 1);
  EXPECT_THAT(job.warnings, ::testing::ElementsAre(HasSubstr("share a machine")));
}

TEST(TracedJob, AlignsTheClocksOfMachines) {
  const RankOf first{.rank = 0, .forward = 300, .other_forward = 320};
  const RankOf second{.rank = 1, .forward = 320, .other_forward = 300, .clock = 7'000'000};
  const TracedJob job = job_of(first, second);
  EXPECT_NE(job.records[0].host, job.records[1].host) << "their clocks cannot be one";
  const auto aligned = on_one_clock(job.records);
  ASSERT_TRUE(aligned) << aligned.error().message();
  EXPECT_NEAR(static_cast<double>(aligned->records[1].iterations[0].started_ns),
              static_cast<double>(job.records[0].iterations[0].started_ns), 20e3)
      << "all-reduces end together, here within 20 µs";
  EXPECT_FALSE(aligned->clocks[1].drift_ppm().has_value()) << "eight steps of a millisecond do not tell";
  EXPECT_LE(aligned->records[1].computing.front().ended_ns, aligned->records[1].iterations[0].ended_ns);
  EXPECT_TRUE(job_of(first, second, "second").warnings.empty()) << "the names of the files tell the machines";
}

TEST(TracedJob, ClocksThatEndsSayAreOneAreOne) {
  // All-reduces of 10 µs. Rank 1 has its kernels 15 µs too early: they end before rank 0 begins.
  const TracedJob job = job_of({.rank = 0, .forward = 300, .other_forward = 150, .ends = 320},
                               {.rank = 1, .forward = 150, .other_forward = 300, .clock = -15, .ends = 320});
  EXPECT_EQ(job.records[0].host, job.records[1].host);
  EXPECT_THAT(job.warnings, ::testing::ElementsAre(HasSubstr("end at the same time")));
}

TEST(TracedJob, AnAllToAllIsWhatCallsSendsAndReceives) {
  std::vector<RankTrace> traces;
  for (const int rank : {0, 1}) {
    RankTrace trace = trace_of({.rank = rank,
                                .forward = rank == 0 ? 300.0 : 400.0,
                                .other_forward = rank == 0 ? 400.0 : 300.0,
                                .is_old = true,
                                .kernel = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t",
                                .operation = "nccl:all_to_all"});
    traces.push_back(std::move(trace));
  }
  const auto job = traced_job(std::move(traces));
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->records[0].collectives[0].kind, CollectiveKind::kAllToAll);
  EXPECT_TRUE(rank_figures(job->records).at(0).waiting_ms.has_value());
}

TEST(TracedJob, ComparesWhatAnOldTraceHas) {
  const TracedJob job =
      job_of({.rank = 0, .other_forward = 400, .is_old = true}, {.rank = 1, .forward = 400, .is_old = true});
  EXPECT_EQ(job.records[0].collectives[0].kind, CollectiveKind::kAllReduce) << "by the name of the kernel";
  const auto figures = rank_figures(job.records);
  ASSERT_TRUE(figures.at(0).waiting_ms.has_value()) << "the streams of the ranks have other numbers";
  EXPECT_THAT(job.warnings, ::testing::Contains(HasSubstr("no process groups")));
}

TEST(TracedJob, SaysNothingOfRanksThatAreNotThere) {
  const auto job = job_of({.rank = 0, .ranks = "[0, 1, 2, 3]"}, {.rank = 1, .ranks = "[0, 1, 2, 3]"});
  EXPECT_FALSE(rank_figures(job.records).at(0).waiting_ms.has_value());
}

std::string failure(std::vector<RankTrace> traces) {
  const auto job = traced_job(std::move(traces));
  return job ? "" : job.error().message();
}

TEST(TracedJob, RefusesWhatCannotBeCompared) {
  EXPECT_THAT(failure({trace_of({.rank = 1}), trace_of({.rank = 1})}), HasSubstr("are of the same rank, 1"));
  EXPECT_THAT(failure({trace_of({.rank = 1}, "", 1)}), HasSubstr("does not tell its rank"));
  RankTrace of_no_job = trace_of({.rank = 1});
  of_no_job.traced.rank = -1;
  EXPECT_THAT(failure({of_no_job, of_no_job}), HasSubstr("does not tell its rank")) << "not: both are of rank -1";
  RankTrace without_steps = trace_of({.rank = 0});
  without_steps.traced.steps.clear();
  EXPECT_THAT(failure({without_steps}), HasSubstr("has no steps"));
  RankTrace without_collectives = trace_of({.rank = 0});
  without_collectives.traced.collectives.clear();
  EXPECT_THAT(failure({without_collectives}), HasSubstr("ridgeline profile --job"));
  RankTrace one_more = trace_of({.rank = 1, .is_old = true});
  const std::vector<analysis::TracedCollective> again = one_more.traced.collectives;
  one_more.traced.collectives.insert(one_more.traced.collectives.end(), again.begin(), again.end());
  EXPECT_THAT(failure({trace_of({.rank = 0, .is_old = true}), one_more}), HasSubstr("call the same collectives"));
}

TEST(TracedJob, KnowsTheSizesOfTypes) {
  EXPECT_EQ(element_bytes("BFloat16"), 2U);
  EXPECT_EQ(element_bytes("Float8_e4m3fn"), 0U) << "unknown";
}

}  // namespace
}  // namespace ridgeline::jobs
