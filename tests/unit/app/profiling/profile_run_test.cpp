#include "app/profiling/profile_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "protocol/recording_columns.h"
#include "tests/unit/protocol/small_recording.h"

namespace ridgeline::app {
namespace {

worker::Finished finished_with(std::string recording) {
  worker::RunOutput output;
  output.result.batch_size = 32;
  output.batches.push_back(
      {32, false, {1e6, 1e6, 1e6}, {1e6, 1.1e6}, 1, std::make_shared<const std::string>(std::move(recording))});
  return {std::move(output), "its last words", {}};
}

TEST(AnalyseRun, RefusesADamagedRecording) {
  const auto outcome = analyse_run(finished_with("12345"), {});
  ASSERT_TRUE(outcome.has_error());
  const RunFailure& failure = outcome.error();
  EXPECT_EQ(failure.kind, protocol::FailureKind::kWorkerProtocol);
  EXPECT_THAT(failure.message, ::testing::HasSubstr("recording"));
  EXPECT_EQ(failure.output, "its last words");
}

worker::Finished finished_on(const protocol::RunDevice& device) {
  const std::string recording = recording::serialise(recording::testing::small_columns());
  worker::Finished finished = finished_with(recording);
  auto& output = std::get<worker::RunOutput>(finished.outcome);
  output.result.device = device;
  output.batches.push_back(
      {64, false, {1e6, 1e6, 1e6}, {2e6, 2.1e6}, 1, std::make_shared<const std::string>(recording)});
  return finished;
}

TEST(AnalyseRun, TakesWhatIsAvailableOfADeviceForTheCapacity) {
  const auto outcome = analyse_run(finished_on({"cuda", "H100", 80'000, 79'000, "expandable_segments:True", 0.5}), {});
  ASSERT_TRUE(outcome.has_value());
  const ProfileRun* run = &*outcome;
  EXPECT_EQ(run->profile.capacity_bytes, 79'000U);
  ASSERT_NE(run->profile.allocator, nullptr);
  EXPECT_EQ(run->profile.allocator->setup.conf, "expandable_segments:True,per_process_memory_fraction:0.5");
  EXPECT_EQ(run->profile.allocator->setup.device_bytes, 80'000U);
  EXPECT_EQ(run->profile.allocator->setup.available_bytes, 79'000U);
  EXPECT_EQ(run->profile.allocator->largest, std::nullopt);
}

TEST(AnalyseRun, SaysThatAnAllocatorHasNoModel) {
  const auto outcome = analyse_run(finished_on({"cuda", "H100", 80'000, 79'000, "backend:cudaMallocAsync", 1}), {});
  ASSERT_TRUE(outcome.has_value());
  const ProfileRun* run = &*outcome;
  EXPECT_EQ(run->profile.allocator, nullptr);
  EXPECT_THAT(run->profile.warnings, ::testing::Contains(::testing::HasSubstr("cudaMallocAsync")));
}

TEST(AnalyseRun, PassesOnWhatWentWrong) {
  worker::Finished finished{
      protocol::failure_of(protocol::FailureKind::kException, "iteration", "ValueError"), "words", {}};
  const auto outcome = analyse_run(std::move(finished), {});
  ASSERT_TRUE(outcome.has_error());
  const RunFailure& failure = outcome.error();
  EXPECT_EQ(failure.kind, protocol::FailureKind::kException);
  EXPECT_EQ(failure.output, "words");
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
}  // namespace ridgeline::app
