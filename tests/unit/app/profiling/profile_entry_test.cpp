#include "app/profiling/profile_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "app/profiling/kept_profiles.h"
#include "protocol/recording_columns.h"
#include "tests/unit/protocol/small_recording.h"
#include "tests/unit/temporary_folder.h"

namespace ridgeline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

worker::Finished measured() {
  worker::RunOutput output;
  output.result.batch_size = 32;
  const std::string recording = recording::serialise(recording::testing::small_columns());
  output.batches.push_back(
      {32, false, {1e6, 1e6, 1e6}, {1e6, 1.1e6}, 1, std::make_shared<const std::string>(recording)});
  return {std::move(output), "", {}};
}

/// Has run at once.
class FakeEntry final : public EntryRunner {
 public:
  explicit FakeEntry(worker::Finished finished) : finished_(std::move(finished)) {}
  base::Task<std::shared_ptr<worker::Finished>> run(PlannedRun /*plan*/, RemainingTime& remaining) override {
    const protocol::Progress step{"time", 0.5, "Timing"};
    show(step, remaining.of(step, RemainingTime::Clock::now()));
    co_return std::make_shared<worker::Finished>(finished_);
  }
  void show(const protocol::Progress& step, const protocol::Progress& /*timed*/) override {
    shown.push_back(step.message);
  }
  void warn(const std::string& text) override {
    if (!text.empty()) {
      warnings.push_back(text);
    }
  }
  base::Task<void> off_loop(std::function<void()> work) override {
    work();
    co_return;
  }
  std::vector<std::string> shown;
  std::vector<std::string> warnings;

 private:
  worker::Finished finished_;
};

template <typename T>
T result_of(base::Task<T> task) {
  boost::asio::io_context loop;
  std::optional<T> value;
  boost::asio::co_spawn(loop, std::move(task), [&](std::exception_ptr, T result) { value = std::move(result); });
  loop.run();
  return std::move(*value);
}

struct Project {
  ridgeline::testing::TemporaryFolder folder;
  ProfileRequest request;
  Target target;

  Project() {
    target.entry = folder.file("entry.py", "a = 1\n");
    target.project_root = target.cache = folder.path();
  }
};

TEST(ProfileEntry, KeepsTheProfileAndHowLongItTook) {
  Project project;
  FakeEntry runner(measured());
  const auto profiled = result_of(profile_entry(runner, project.request, project.target));
  ASSERT_TRUE(profiled);
  EXPECT_THAT(profiled->run.profile.id, Not(IsEmpty()));
  EXPECT_THAT(runner.shown, ElementsAre("Timing", "Analysing"));
  EXPECT_THAT(runner.warnings, IsEmpty());
  EXPECT_TRUE(last_duration(project.request, project.target).seconds.has_value());
}

TEST(ProfileEntry, KeepsNothingThatTheRequestDoesNotWantKept) {
  Project project;
  project.request.keep = false;
  FakeEntry runner(measured());
  const auto profiled = result_of(profile_entry(runner, project.request, project.target));
  ASSERT_TRUE(profiled);
  EXPECT_THAT(profiled->run.profile.id, IsEmpty());
  EXPECT_FALSE(last_duration(project.request, project.target).seconds.has_value());
}

TEST(ProfileEntry, DoesNothingMoreWhereTheRunFailed) {
  Project project;
  FakeEntry runner(
      {protocol::failure_of(protocol::FailureKind::kCancelled, "start", "The profile was cancelled."), "words", {}});
  const auto profiled = result_of(profile_entry(runner, project.request, project.target));
  ASSERT_FALSE(profiled);
  EXPECT_EQ(profiled.error().kind, protocol::FailureKind::kCancelled);
  EXPECT_EQ(profiled.error().output, "words");
  EXPECT_THAT(runner.shown, ElementsAre("Timing"));
  EXPECT_FALSE(last_duration(project.request, project.target).seconds.has_value());
}

TEST(ProfileEntry, WarnsWhereNothingCanBeKept) {
  Project project;
  project.target.cache = project.folder.path() / "missing" / "deeper";
  FakeEntry runner(measured());
  EXPECT_TRUE(result_of(profile_entry(runner, project.request, project.target)));
  EXPECT_THAT(runner.warnings, ElementsAre(HasSubstr("not kept")));
}

TEST(ProfileEntry, ForAnEditorHasAnIdAndTheStepForChanges) {
  Project project;
  project.request.overlay = {{project.target.entry, "a = 2\n"}};
  FakeEntry runner(measured());
  const auto made = result_of(make_profile(runner, project.request, project.target));
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->kept);
  EXPECT_THAT(made->profile.id, Not(IsEmpty()));
  EXPECT_NE(made->what_if, nullptr);
}

TEST(Analysed, TurnsWhatIsThrownIntoAFailure) {
  FakeEntry runner(measured());
  const auto thrown = []() -> base::Result<int, RunFailure> { throw std::runtime_error("a bug"); };
  const auto outcome = result_of(analysed<int>(runner, thrown));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, protocol::FailureKind::kInternalError);
  EXPECT_THAT(outcome.error().message, HasSubstr("a bug"));
}

}  // namespace
}  // namespace ridgeline::app
