// A worker with a real interpreter and a real torch: what stays warm between runs. ./dev test names the interpreter in
// RIDGELINE_PYTHON; without it these tests are skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "worker/cache.h"
#include "worker/worker.h"

namespace ridgeline::worker {
namespace {

constexpr const char* kEntry = R"(
import torch

def model_provider():
    return torch.nn.Linear(8, 8)

def input_provider(batch_size=4):
    return (torch.randn(batch_size, 8),)

def iteration_provider(model):
    def iteration(x):
        model(x).sum().backward()
    return iteration
)";

class WarmWorker : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* python = std::getenv("RIDGELINE_PYTHON");
    if (python == nullptr) {
      GTEST_SKIP() << "RIDGELINE_PYTHON names no interpreter with torch";
    }
    std::string pattern = (std::filesystem::temp_directory_path() / "ridgeline-warm-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream(folder_ / "entry.py") << kEntry;
    const auto cache = cache_folder();
    ASSERT_TRUE(cache.has_value()) << cache.error().message();
    worker_.emplace(loop_, reaper_, WorkerOptions{python, *cache});
  }
  void TearDown() override {
    worker_.reset();
    if (!folder_.empty()) {
      std::filesystem::remove_all(folder_);
    }
  }

  /// Runs to the end; `on_progress` may cancel.
  template <typename OnProgress>
  Finished run(OnProgress on_progress) {
    std::optional<Finished> finished;
    protocol::RunSpec spec;
    spec.entry = (folder_ / "entry.py").string();
    spec.project_root = folder_.string();
    spec.time_budget_seconds = 0.05;
    loop_.restart();
    worker_->run(spec, RunLimits{}, [&](Event event) {
      if (auto* end = std::get_if<Finished>(&event)) {
        EXPECT_FALSE(finished.has_value()) << "a run ends once";
        finished = std::move(*end);
        loop_.stop();
      } else {
        on_progress(std::get<protocol::Progress>(event));
      }
    });
    if (!finished.has_value()) {
      loop_.run();
    }
    return std::move(*finished);
  }
  Finished run() {
    return run([](const protocol::Progress&) {});
  }

  std::filesystem::path folder_;
  boost::asio::io_context loop_;
  Reaper reaper_{loop_};
  std::optional<Worker> worker_;
};

std::string kind_of(const Finished& finished) {
  const auto* failure = std::get_if<protocol::Failure>(&finished.outcome);
  return failure == nullptr ? "" : std::string(protocol::name_of(failure->kind)) + ": " + failure->message;
}

TEST_F(WarmWorker, IsWarmedUpWithoutRunningAnything) {
  std::optional<Finished> finished;
  worker_->warm_up(RunLimits{}, [&](Event event) {
    if (auto* end = std::get_if<Finished>(&event)) {
      finished = std::move(*end);
      loop_.stop();
    } else {
      EXPECT_THAT(std::get<protocol::Progress>(event).stage, ::testing::AnyOf("start", "build"));
    }
  });
  loop_.run();
  EXPECT_TRUE(std::holds_alternative<ForkServerReady>(finished->outcome)) << kind_of(*finished);
  EXPECT_FALSE(finished->environment->torch.empty());
  EXPECT_FALSE(worker_->running());
  const pid_t parent = worker_->parent_process();
  EXPECT_EQ(kind_of(run()), "");
  EXPECT_EQ(worker_->parent_process(), parent);
}

TEST_F(WarmWorker, TellsTheFilesThatTheUserImported) {
  std::ofstream(folder_ / "neighbour.py") << "x = 1\n";
  std::ofstream(folder_ / "entry.py") << "import json, neighbour\n" << kEntry;
  const Finished finished = run();
  ASSERT_EQ(kind_of(finished), "");
  const protocol::RunResult& result = std::get<RunOutput>(finished.outcome).result;
  EXPECT_TRUE(result.imported_files_complete);
  std::vector<std::string> files = result.imported_files;
  std::erase_if(files, [](const std::string& file) { return file.ends_with("/forkserver/site/sitecustomize.py"); });
  EXPECT_THAT(files, ::testing::ElementsAre((folder_ / "entry.py").string(), (folder_ / "neighbour.py").string(),
                                            ::testing::EndsWith("/torch/version.py")));
}

TEST_F(WarmWorker, SecondRunIsForkedFromTheSameParent) {
  const Finished first = run();
  ASSERT_EQ(kind_of(first), "");
  const pid_t parent = worker_->parent_process();
  bool imported_again = false;
  const Finished second = run([&](const protocol::Progress& step) { imported_again |= step.stage == "start"; });
  ASSERT_EQ(kind_of(second), "");
  EXPECT_EQ(worker_->parent_process(), parent);
  EXPECT_FALSE(imported_again);
  EXPECT_GE(std::get<RunOutput>(second.outcome).batches.size(), 3U);
}

TEST_F(WarmWorker, SurvivesARunThatIsCancelled) {
  const Finished cancelled = run([this](const protocol::Progress& step) {
    if (step.stage == "record") {
      worker_->cancel();
    }
  });
  EXPECT_EQ(kind_of(cancelled), "cancelled: The profile was cancelled.");
  const pid_t parent = worker_->parent_process();
  EXPECT_EQ(kind_of(run()), "");
  EXPECT_EQ(worker_->parent_process(), parent);
}

TEST_F(WarmWorker, SurvivesARunThatKillsItself) {
  std::ofstream(folder_ / "entry.py") << "import os\nos.kill(os.getpid(), 9)\n";
  EXPECT_EQ(kind_of(run()).substr(0, 12), "process-died");
  std::ofstream(folder_ / "entry.py") << kEntry;
  EXPECT_EQ(kind_of(run()), "");
}

TEST_F(WarmWorker, SeesTheSourceAsItIsNow) {
  ASSERT_EQ(kind_of(run()), "");
  std::ofstream(folder_ / "entry.py") << std::string(kEntry).replace(std::string(kEntry).find("=4"), 2, "=6");
  const Finished second = run();
  ASSERT_EQ(kind_of(second), "");
  EXPECT_EQ(std::get<RunOutput>(second.outcome).result.batch_size, 6);
}

TEST_F(WarmWorker, IsStartedAnewWhenItDied) {
  ASSERT_EQ(kind_of(run()), "");
  const pid_t parent = worker_->parent_process();
  signal_group(parent, 9);
  const Finished second = run();
  // The run that meets the corpse may fail; the next one must not.
  if (!kind_of(second).empty()) {
    EXPECT_EQ(kind_of(second).substr(0, 11), "worker-died");
    EXPECT_EQ(kind_of(run()), "");
  }
  EXPECT_NE(worker_->parent_process(), parent);
}

}  // namespace
}  // namespace ridgeline::worker
