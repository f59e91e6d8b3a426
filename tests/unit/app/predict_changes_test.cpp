#include "app/predict_changes.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "app/search_changes.h"
#include "tests/unit/step/changes/step_graph.h"
#include "tests/unit/temporary_folder.h"

namespace ridgeline::app {
namespace {

using protocol::Captured;
using protocol::Experiment;

constexpr std::int64_t kMiB = 1 << 20;
const std::string kKey = R"(["aten::relu.default",["t:float32:4:1:cpu"],{}])";

/// A step of one operation that asks for a block beside its weights.
Captured listed(int change, std::int64_t block) {
  Captured captured;
  captured.change = change;
  captured.batch_size = 8;
  captured.requests = {100 * kMiB, block, ~1};
  captured.step = protocol::CapturedStep{{kKey}, {"aten::relu"}, {""}, {{0, 0, 0, protocol::StepPart::kForward}}};
  captured.peak_bytes.fill(static_cast<std::uint64_t>(100 * kMiB + block));
  return captured;
}

/// Lists the unchanged step with 80 MiB, checkpointing with 20 and autocast with 40; times every operation alike.
class FakeRunner final : public ExperimentRunner {
 public:
  explicit FakeRunner(std::string cache) : cache_(std::move(cache)) {}

  base::Task<ExperimentOutcome> run(Experiment experiment) override {
    worker::ExperimentFindings findings;
    if (experiment.kind == Experiment::Kind::kCapture) {
      findings.captured.push_back(listed(0, 80 * kMiB));
      for (std::size_t i = 0; i < experiment.changes.size(); ++i) {
        const bool checkpoints = experiment.changes[i].front() == "checkpoint";
        findings.captured.push_back(listed(static_cast<int>(i) + 1, (checkpoints ? 20 : 40) * kMiB));
        if (!is_observed) {
          findings.captured.back().requests.clear();
        }
      }
    }
    for (std::size_t i = 0; i < experiment.operations.size(); ++i) {
      protocol::OperationTimed& timed = findings.times.emplace_back();
      timed.operation = static_cast<int>(i);
      timed.samples_ns = {1e5, 1e5, 1e5};
      timed.peak_bytes = 16;
    }
    asked.push_back(std::move(experiment));
    co_return findings;
  }
  std::string cache() const override { return cache_; }
  base::Task<void> off_loop(std::function<void()> work) override {
    work();
    co_return;
  }

  std::vector<Experiment> asked;
  bool is_observed = true;

 private:
  std::string cache_;
};

PredictedStep step_on(bool host, bool script = false) {
  auto base = std::make_shared<WhatIfBase>();
  base->on_host = host;
  base->is_script = script;
  base->step_ms = base->answer.step_ms = 1;
  base->answer.batch_size = 8;
  base->answer.peak_bytes = 180 * kMiB;
  step::testing::StepGraph graph;
  graph.host(step::Kind::kOperation, 1'000'000, analysis::Phase::kForward, "aten::relu");
  base->graph = graph.finish();
  if (!host) {
    base->reserved = ReservedStep{.bytes = 300 * kMiB};
  }
  return {base, std::make_shared<CollectedTimes>()};
}

analysis::WhatIf search(FakeRunner& runner, PredictedStep step, std::uint64_t memory_bytes) {
  boost::asio::io_context loop;
  auto found = std::make_shared<analysis::WhatIf>();
  base::start(loop,
              [](FakeRunner& on, PredictedStep of, std::uint64_t limit,
                 std::shared_ptr<analysis::WhatIf> into) -> base::Task<void> {
                auto searching = search_changes(on, std::move(of), {{{"checkpoint"}, {"bf16-autocast"}}}, limit, {});
                auto answer = co_await std::move(searching);
                EXPECT_TRUE(answer.has_value());
                if (answer) {
                  *into = std::move(*answer);
                }
              }(runner, std::move(step), memory_bytes, found));
  loop.run();
  return *found;
}

TEST(SearchOnADevice, KeepsToWhatItsAllocatorReserves) {
  const testing::TemporaryFolder folder;
  FakeRunner runner(folder.path().string());
  // The unchanged step reserves 300 MiB; checkpointing 60 less, autocast 40 less.
  const analysis::WhatIf answer = search(runner, step_on(false), 250 * kMiB);
  ASSERT_FALSE(answer.changes.empty());
  for (const analysis::ChangeAnswer& row : answer.changes) {
    EXPECT_EQ(row.change.front(), "checkpoint");
    EXPECT_EQ(row.predicted->reserved_bytes, static_cast<std::uint64_t>(240 * kMiB));
  }
  ASSERT_GE(runner.asked.size(), 2U);
  EXPECT_TRUE(runner.asked.front().on_host && runner.asked.front().for_cuda);
  EXPECT_NE(runner.asked[1].operations.front().find("cuda"), std::string::npos) << "timed on the device";
}

TEST(SearchOnADevice, ListsTheStepsOfAScriptThere) {
  const testing::TemporaryFolder folder;
  FakeRunner runner(folder.path().string());
  const PredictedStep step = step_on(false, true);
  EXPECT_EQ(fit_problem(*step.base), "");
  const analysis::WhatIf answer = search(runner, step, 250 * kMiB);
  ASSERT_FALSE(answer.changes.empty());
  EXPECT_EQ(answer.changes.front().predicted->reserved_bytes, static_cast<std::uint64_t>(240 * kMiB));
  EXPECT_FALSE(runner.asked.front().on_host || runner.asked.front().for_cuda);
}

TEST(SearchOnADevice, LeavesOutWhatIsNotKnownToFit) {
  const testing::TemporaryFolder folder;
  FakeRunner runner(folder.path().string());
  runner.is_observed = false;
  EXPECT_TRUE(search(runner, step_on(false), 250 * kMiB).changes.empty());
}

TEST(SearchOnTheHost, KeepsToThePeak) {
  const testing::TemporaryFolder folder;
  FakeRunner runner(folder.path().string());
  const analysis::WhatIf answer = search(runner, step_on(true), 130 * kMiB);
  ASSERT_FALSE(answer.changes.empty());
  for (const analysis::ChangeAnswer& row : answer.changes) {
    EXPECT_EQ(row.change.front(), "checkpoint");
    EXPECT_FALSE(row.predicted->reserved_bytes.has_value());
  }
  EXPECT_FALSE(runner.asked.front().on_host || runner.asked.front().for_cuda);
}

}  // namespace
}  // namespace ridgeline::app
