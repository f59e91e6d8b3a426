#include "analysis/script_figures.h"

#include <gtest/gtest.h>

namespace ridgeline::analysis {
namespace {

/// Ten steps of 20 ms that wait for half of it; two workers, busy all the time, take 20 ms for a batch.
protocol::LoaderUse starved() {
  protocol::LoaderUse use;
  use.steps = 10;
  use.steps_ns = 200e6;
  use.wait_ns = 100e6;
  use.batches = 10;
  use.workers = 2;
  use.by_workers = {20, 400e6};
  use.worker_wall_ns = 200e6;
  use.threads = 1;
  use.processors = 8;
  use.first_pass = {4, 120e6};
  use.later_passes = {16, 160e6};
  return use;
}

TEST(DataLoading, HasTheMeansOfAStep) {
  const auto loading = data_loading(starved());
  ASSERT_TRUE(loading.has_value());
  EXPECT_EQ(loading->workers, 2);
  EXPECT_DOUBLE_EQ(loading->batches_per_step, 1);
  EXPECT_DOUBLE_EQ(loading->wait_ms, 10);
  EXPECT_DOUBLE_EQ(loading->wait_share, 0.5);
  EXPECT_DOUBLE_EQ(loading->batch_ms.value(), 20);
  EXPECT_DOUBLE_EQ(loading->workers_busy.value(), 1);
  EXPECT_DOUBLE_EQ(loading->first_pass_batch_ms.value(), 30);
  EXPECT_DOUBLE_EQ(loading->later_passes_batch_ms.value(), 10);
}

TEST(DataLoading, NeedsTimedSteps) {
  protocol::LoaderUse use = starved();
  use.steps = 0;
  EXPECT_EQ(data_loading(use), std::nullopt);
}

/// 20 ms of loading against 10 ms of everything else.
TEST(DataLoading, NeedsAsManyWorkersAsKeepUpWithTheStep) {
  protocol::LoaderUse use = starved();
  use.by_workers = {13, 390e6};
  EXPECT_EQ(data_loading(use)->workers_needed, 3) << "30 ms for a batch";
}

TEST(DataLoading, CountsTheWaitingOfTheTrainingProcess) {
  protocol::LoaderUse use = starved();
  use.workers = 0;
  EXPECT_DOUBLE_EQ(data_loading(use)->batch_ms.value(), 10);
  EXPECT_EQ(data_loading(use)->workers_busy, std::nullopt);
  EXPECT_EQ(data_loading(use)->workers_needed, std::nullopt) << "what a worker adds to pass a batch on is not known";
}

TEST(DataLoading, RecommendsNoWorkersWhereThatIsNotKnownToHelp) {
  const auto needed = [](void (*change)(protocol::LoaderUse&)) {
    protocol::LoaderUse use = starved();
    use.by_workers = {13, 390e6};
    change(use);
    return data_loading(use)->workers_needed;
  };
  EXPECT_EQ(needed([](auto& use) { use.wait_ns = 9e6; }), std::nullopt) << "it hardly waits";
  EXPECT_EQ(needed([](auto& use) { use.by_workers.ns = 300e6; }), std::nullopt) << "the workers wait, too";
  EXPECT_EQ(needed([](auto& use) { use.processors = 3; }), std::nullopt) << "the step needs one of them";
  EXPECT_EQ(needed([](auto& use) { use.worker_wall_ns = 0; }), std::nullopt) << "the workers are not followed";
  EXPECT_EQ(needed([](auto& use) { use.wait_ns = use.steps_ns; }), std::nullopt) << "it does nothing else";
}

TEST(ScriptFigures, NameTheLineAsTheReportDoes) {
  protocol::ScriptRun run;
  run.boundary = {protocol::StepEnd::kLine, true, {}, "/project/src/train.py", 12};
  run.phases = {{"evaluation", 2, 3e6}};
  const Script script = script_figures(run, {"/project", {}});
  EXPECT_EQ(script.step.line, (Location{"src/train.py", 12}));
  EXPECT_TRUE(script.step.requested);
  ASSERT_EQ(script.between.size(), 1U);
  EXPECT_EQ(script.between[0].count, 2U);
  EXPECT_DOUBLE_EQ(script.between[0].ms, 3);
  EXPECT_FALSE(script.loading.has_value());
}

TEST(ScriptFigures, TheThroughputOfStepsThatDifferIsOfTheirSum) {
  protocol::ScriptRun run;
  run.whole = protocol::WholeTime{};
  run.whole->usual_ns = 2e9;
  run.whole->usual_samples = 64;
  run.samples = {16, 4, 16, 16, 16, ""};
  EXPECT_EQ(varying_throughput(run), std::nullopt) << "the median of the steps is as good, and steadier";
  run.samples = {16, 4, 16, 8, 24, ""};
  EXPECT_DOUBLE_EQ(varying_throughput(run).value(), 32);
  run.whole->usual_samples = 0;
  EXPECT_EQ(varying_throughput(run), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::analysis
