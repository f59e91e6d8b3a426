#include "app/profiling/script_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ridgeline::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

protocol::RunResult script_with(std::vector<int> loader_sizes, int batch_size) {
  protocol::RunResult result;
  result.batch_size = batch_size;
  result.script.emplace().loader_sizes = std::move(loader_sizes);
  return result;
}

std::vector<int> sizes_of(const base::Result<std::vector<SizeRun>>& runs) {
  std::vector<int> sizes;
  for (const SizeRun& run : *runs) {
    sizes.push_back(run.batch_size);
  }
  return sizes;
}

worker::JobEnd end_with(int batch_size) {
  worker::RunOutput output;
  output.result = script_with({8}, batch_size);
  output.batches.push_back({batch_size, false, {1e6}, {1e6}, 1, std::make_shared<const std::string>("recording")});
  worker::JobEnd end;
  end.processes.push_back({{}, std::move(output)});
  return end;
}

const worker::RunOutput& output_of(const worker::JobEnd& end) {
  return std::get<worker::RunOutput>(end.processes.front().outcome);
}

using Ended = base::Result<worker::JobEnd, protocol::Failure>;

/// Answers each run at once.
class FakeScript final : public ScriptRunner {
 public:
  explicit FakeScript(std::function<Ended(const worker::JobOptions&)> answer) : answer_(std::move(answer)) {}
  base::Task<base::Result<std::shared_ptr<worker::JobEnd>, protocol::Failure>> run(
      worker::JobOptions options) override {
    co_return std::make_shared<worker::JobEnd>(*answer_(options));
  }
  void announce(const std::string& text) override { notes.push_back(text); }
  base::Task<void> off_loop(std::function<void()> work) override {
    work();
    co_return;
  }
  std::vector<std::string> notes;

 private:
  std::function<Ended(const worker::JobOptions&)> answer_;
};

void sample(FakeScript& script, worker::JobEnd& first, const SizesRequest& request) {
  boost::asio::io_context loop;
  base::start(loop, sample_sizes(script, first, {}, request));
  loop.run();
}

TEST(PlanSizes, ScalesTheLoadersOfAStep) {
  const auto runs = plan_sizes(script_with({8}, 32), {{16, 64}, false}, std::nullopt);  // four batches of eight
  ASSERT_TRUE(runs.has_value());
  ASSERT_EQ(sizes_of(runs), (std::vector<int>{16, 64}));
  EXPECT_EQ((*runs)[0].loader_sizes[0].given, 4);
  EXPECT_EQ((*runs)[1].loader_sizes[0].constructed, 8);
  EXPECT_EQ((*runs)[1].loader_sizes[0].given, 16);
}

TEST(PlanSizes, LeavesOutTheScriptsOwnAndRepeatedSizes) {
  EXPECT_THAT(sizes_of(plan_sizes(script_with({32}, 32), {{16, 32, 16}, false}, std::nullopt)), ElementsAre(16));
}

TEST(PlanSizes, ChoosesThree) {
  EXPECT_THAT(sizes_of(plan_sizes(script_with({32}, 32), {}, std::nullopt)), ElementsAre(16, 48, 64));
  EXPECT_THAT(sizes_of(plan_sizes(script_with({1}, 1), {}, std::nullopt)), ElementsAre(2));
  EXPECT_THAT(sizes_of(plan_sizes(script_with({1}, 4), {}, std::nullopt)), ElementsAre(8))
      << "a batch of one has no half";
}

TEST(PlanSizes, ReplacesTheNumberOfAScriptWithoutLoaders) {
  protocol::RunResult result = script_with({}, 12);
  result.script->sizes_obstacle = "no DataLoader gives the step its data";
  const auto runs = plan_sizes(result, {}, ScriptNumber{});
  EXPECT_THAT(sizes_of(runs), ElementsAre(6, 18, 24));
  EXPECT_TRUE((*runs)[0].loader_sizes.empty());
}

TEST(ScriptNumber, IsReplacedInAnArgumentOrInTheText) {
  ScriptNumber number{"batch = 8\n", {}};
  number.found.size.literal = {8, 9};
  number.found.options = {"-b", "--batch"};
  worker::JobOptions options;
  options.command = {"python", "train.py", "--batch=8", "-b", "8", "--lr", "1"};
  set_batch_size(options, number, 16);
  EXPECT_THAT(options.command, ElementsAre("python", "train.py", "--batch=8", "-b", "16", "--lr", "1"));
  EXPECT_EQ(options.script_text, "");
  options.command = {"python", "train.py", "--batched"};
  set_batch_size(options, number, 16);
  EXPECT_EQ(options.script_text, "batch = 16\n");
  EXPECT_EQ(with_option({"--batch=8"}, number.found.options, "4"), (std::vector<std::string>{"--batch=4"}));
  EXPECT_EQ(with_option({"-b"}, number.found.options, "4"), std::nullopt);
}

TEST(PlanSizes, RefusesWhatCannotBe) {
  const auto why = [](const protocol::RunResult& result, const SizesRequest& request) {
    return plan_sizes(result, request, std::nullopt).error().message();
  };
  EXPECT_THAT(why(protocol::RunResult{}, {}), HasSubstr("ended too early"));
  protocol::RunResult result = script_with({}, 32);
  result.script->sizes_obstacle = "no DataLoader gives the step its data";
  EXPECT_THAT(why(result, {}), HasSubstr("no DataLoader"));
  EXPECT_THAT(why(script_with({8}, 32), {{6}, false}), HasSubstr("cannot add up to 6"));
}

TEST(SampleSizes, AddsWhatFurtherRunsMeasured) {
  worker::JobEnd first = end_with(32);
  std::vector<worker::JobOptions> asked;
  FakeScript script([&](const worker::JobOptions& options) {
    asked.push_back(options);
    return end_with(4 * options.spec.loader_sizes.front().given);
  });
  sample(script, first, {{16, 64}, false});
  ASSERT_EQ(output_of(first).batches.size(), 3U);
  EXPECT_EQ(output_of(first).batches[2].batch_size, 64);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_TRUE(asked[0].spec.stop && asked[0].discards_output && asked[0].guarded);
  EXPECT_GT(asked[0].spec.memory_limit_bytes, 0U);
  EXPECT_THAT(script.notes, ElementsAre(HasSubstr("batch size of 16 (1 of 2)"), HasSubstr("64 (2 of 2)")));
}

TEST(SampleSizes, SkipsWhatDidNotWork) {
  worker::JobEnd first = end_with(32);
  int runs = 0;
  FakeScript script([&](const worker::JobOptions&) {
    if (++runs == 1) {
      return end_with(32);  // as a data set that is too small gives
    }
    worker::JobEnd end;
    end.processes.push_back({{}, protocol::failure_of(protocol::FailureKind::kOutOfMemory, "iteration", "no room")});
    end.interrupted = true;
    return end;
  });
  sample(script, first, {{64, 128, 256}, false});
  ASSERT_EQ(output_of(first).skipped.size(), 2U) << "an interrupt ends it";
  EXPECT_EQ(output_of(first).skipped[0].batch_size, 64);
  EXPECT_THAT(output_of(first).skipped[0].message, HasSubstr("A step took 32 samples"));
  EXPECT_EQ(output_of(first).skipped[1].kind, protocol::FailureKind::kOutOfMemory);
  EXPECT_EQ(output_of(first).batches.size(), 1U);
}

TEST(SampleSizes, WarnsOfWhyThereAreNone) {
  worker::JobEnd first = end_with(32);
  std::get<worker::RunOutput>(first.processes.front().outcome).result.script->sizes_obstacle = "of a reason";
  FakeScript script({});
  sample(script, first, {});
  EXPECT_THAT(output_of(first).result.warnings, ElementsAre(HasSubstr("of a reason")));
}

/// What is said of the first run after runs at 16 and 64 that ended with these reports; how many were made.
int runs_until(const std::vector<worker::Report>& reports, worker::JobEnd& first, bool measured = false) {
  int runs = 0;
  FakeScript script([&](const worker::JobOptions& options) {
    worker::JobEnd end = measured ? end_with(options.spec.loader_sizes.front().given) : worker::JobEnd();
    end.guard = reports[static_cast<std::size_t>(runs++)];
    return end;
  });
  std::get<worker::RunOutput>(first.processes.front().outcome).result.script->loader_sizes = {32};
  sample(script, first, {{16, 64}, false});
  return runs;
}

TEST(SampleSizes, EndsWhereTheScriptWouldWriteBeforeItIsMeasured) {
  worker::JobEnd first = end_with(32);
  EXPECT_EQ(runs_until({{.ended_at = "/home/me/log", .call = "openat"}}, first), 1);
  EXPECT_THAT(output_of(first).result.warnings,
              ElementsAre(AllOf(HasSubstr("No other batch size"), HasSubstr("/home/me/log"), HasSubstr("openat"),
                                HasSubstr("--allow-writes"))));
  EXPECT_TRUE(output_of(first).skipped.empty());
}

TEST(SampleSizes, GoesOnWhereTheScriptWouldWriteAfterIt) {
  worker::JobEnd first = end_with(32);
  EXPECT_EQ(runs_until({{.ended_at = "/home/me/log"}, {}}, first, true), 2);
  EXPECT_EQ(output_of(first).batches.size(), 3U);
  EXPECT_TRUE(output_of(first).result.warnings.empty());
}

TEST(SampleSizes, RunsNothingAgainWhereNothingCanGuardIt) {
  worker::JobEnd first = end_with(32);
  EXPECT_EQ(runs_until({{.unavailable = "seccomp is missing"}}, first), 1);
  EXPECT_THAT(output_of(first).result.warnings,
              ElementsAre(AllOf(HasSubstr("seccomp is missing"), HasSubstr("--allow-writes"))));
}

TEST(SampleSizes, SaysWhatAFailedRunDidWithout) {
  worker::JobEnd first = end_with(32);
  runs_until({{.refused = "/data/a.db"}, {.connection = "192.0.2.1:443"}}, first);
  ASSERT_EQ(output_of(first).skipped.size(), 2U);
  EXPECT_THAT(output_of(first).skipped[0].message, HasSubstr("/data/a.db"));
  EXPECT_THAT(output_of(first).skipped[1].message, HasSubstr("192.0.2.1:443"));
}

}  // namespace
}  // namespace ridgeline::app
