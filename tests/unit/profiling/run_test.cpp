#include "profiling/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace ridgeline::profiling {
namespace {

worker::Finished finished_with(std::string recording) {
  worker::RunOutput output;
  output.result.batch_size = 32;
  output.result.samples.push_back({32, 3, {1e6, 1.1e6}, 1, false});
  output.recordings.push_back({32, std::move(recording)});
  return {std::move(output), "its last words", {}};
}

TEST(AnalyseRun, RefusesADamagedRecording) {
  const auto outcome = analyse_run(finished_with("12345"), {});
  const auto* failure = std::get_if<RunFailure>(&outcome);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->failure.kind, "worker-protocol");
  EXPECT_THAT(failure->failure.message, testing::HasSubstr("recording"));
  EXPECT_EQ(failure->output, "its last words");
}

TEST(AnalyseRun, PassesOnWhatWentWrong) {
  worker::Finished finished{protocol::failure_of("exception", "iteration", "ValueError"), "words", {}};
  const auto outcome = analyse_run(std::move(finished), {});
  const auto* failure = std::get_if<RunFailure>(&outcome);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->failure.kind, "exception");
  EXPECT_EQ(failure->output, "words");
}

TEST(PlanRun, TakesTheLimitForTheCapacity) {
  ProfileRequest request;
  request.memory_limit_bytes = 1U << 20U;
  const PlannedRun plan = plan_run(request, {});
  EXPECT_EQ(plan.capacity_bytes, 1U << 20U);
  EXPECT_EQ(plan.spec.memory_limit_bytes, 1U << 20U);
}

TEST(PlanRun, LeavesTheMachineSomeMemory) {
  const PlannedRun plan = plan_run({}, {});
  EXPECT_GT(plan.spec.memory_limit_bytes, 0U);
  EXPECT_LT(plan.spec.memory_limit_bytes, plan.capacity_bytes);
}

}  // namespace
}  // namespace ridgeline::profiling
