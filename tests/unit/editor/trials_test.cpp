#include "editor/trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/prediction/answers.h"
#include "source/source_tree.h"

namespace ridgeline::editor {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = TrialDecision::Kind;

constexpr const char* kEntryPath = "/project/entry.py";
const Trials::Document kDocument{1, "file:///project/entry.py", kEntryPath};

/// Owns trials, with a clock that moves only when it is set, and records the calls of the ports.
struct World final : Trials::Ports {
  Trials::Clock::time_point time{};
  std::optional<Trials::Clock::time_point> alarm;
  TrialDecision decision{Kind::kTry, 96, "", "profile"};
  std::vector<std::string> calls;
  Trials trials{*this};

  Trials::Clock::time_point now() const override { return time; }
  void wake_at(Trials::Clock::time_point at) override { alarm = at; }
  void decide(const Trials::Document& /*document*/, std::function<void(TrialDecision)> decided) override {
    decision.start = [this] { calls.push_back("start " + std::to_string(decision.batch_size)); };
    decided(decision);
  }
  void cancel(const std::string& /*path*/) override { calls.emplace_back("cancel"); }
  void explain(const std::string& /*path*/, int /*batch_size*/, const std::string& why) override {
    calls.push_back("explain " + why);
  }

  void pass(milliseconds duration) {
    const auto end = time + duration;
    while (alarm.has_value() && *alarm <= end) {
      time = std::max(time, *alarm);
      alarm.reset();
      trials.wake();
    }
    time = end;
  }
  std::vector<std::string> take() { return std::exchange(calls, {}); }
};

TEST(Trials, WaitUntilTheTextWasLeftAlone) {
  World world;
  for (int move = 0; move < 20; ++move) {  // a bar is dragged
    world.trials.changed(kDocument);
    world.pass(milliseconds(100));
  }
  world.pass(Trials::kPause - milliseconds(101));
  EXPECT_THAT(world.take(), IsEmpty());
  world.pass(milliseconds(1));
  EXPECT_THAT(world.take(), ElementsAre("start 96"));
  world.pass(milliseconds(60'000));
  EXPECT_THAT(world.take(), IsEmpty()) << "once is enough";
}

TEST(Trials, StartNothingWhileAnEditIsOnItsWay) {
  World world;
  world.decision.kind = Kind::kLater;
  world.trials.changed(kDocument);
  world.pass(milliseconds(10'000));
  EXPECT_THAT(world.take(), IsEmpty());
  world.decision.kind = Kind::kTry;
  world.pass(Trials::kPause);
  EXPECT_THAT(world.take(), ElementsAre("start 96"));
}

TEST(Trials, ANewBatchSizeEndsTheTrialAtOnceAndIsTriedWhenItHasSettled) {
  World world;
  world.trials.changed(kDocument);
  world.pass(Trials::kPause);
  world.take();
  world.decision.batch_size = 128;
  world.trials.changed(kDocument);
  EXPECT_THAT(world.take(), ElementsAre("cancel"));
  world.pass(Trials::kPause);
  EXPECT_THAT(world.take(), ElementsAre("start 128"));
}

TEST(Trials, EndWithTheirDocument) {
  World world;
  world.trials.changed(kDocument);
  world.trials.closed(kDocument);
  world.pass(2 * Trials::kPause);
  EXPECT_THAT(world.take(), IsEmpty());
  world.trials.changed(kDocument);
  world.pass(Trials::kPause);
  world.take();
  world.trials.closed({2, kDocument.uri, kEntryPath});
  EXPECT_THAT(world.take(), IsEmpty()) << "another session's window";
  world.trials.ended(1);
  EXPECT_THAT(world.take(), ElementsAre("cancel"));
}

TEST(Trials, SayWhyABatchSizeStaysPredicted) {
  World world;
  world.decision = {Kind::kRefused, 4096, "batch size 4096 is not tried: it could take 80 s", "profile"};
  world.trials.changed(kDocument);
  world.pass(Trials::kPause);
  EXPECT_THAT(world.take(), ElementsAre("explain batch size 4096 is not tried: it could take 80 s"));
}

// ---- the decision

constexpr const char* kEntryText = "def model_provider(): ...\ndef iteration_provider(model): ...\n";

std::string entry_text(int batch_size) {
  return kEntryText + std::string("def input_provider(batch_size=") + std::to_string(batch_size) + "): ...  # tuned\n";
}

/// An entry with figures, profiled at 8: R(B) = 2 B + 10 ms, M(B) = 100 B + 1000 bytes.
struct Settled {
  Settings settings;
  Entry entry;
  std::string text = entry_text(12);
  bool busy = false;
  bool consent = true;
  int asked = 0;
  std::uint64_t available = 1'000'000;

  explicit Settled(double slowness = 1) {
    app::ProfileWithSources made;
    analysis::Profile& profile = made.profile;
    profile.id = "profile";
    profile.batch_size = 8;
    profile.entry_path = kEntryPath;
    profile.project_root = "/project";
    profile.capacity_bytes = 1'000'000;
    for (const int size : {4, 8, 16}) {
      const double ms = slowness * (2 * size + 10);
      profile.time_samples.push_back({size, {ms, ms, ms}, 20});
      profile.memory_samples.push_back({size, 100 * static_cast<std::uint64_t>(size) + 1000});
    }
    profile.iteration.ms = profile.time_samples[1].ms;
    analysis::fit_models(profile);
    made.outlook = analysis::outlook_of(profile);
    made.sources = {{kEntryPath, entry_text(8)}};
    const std::size_t digit = entry_text(8).rfind('8');
    made.batch_size_literal = source::Span{digit, digit + 1};
    entry.path = kEntryPath;
    entry.project_root = "/project";
    entry.figures = std::make_shared<const Figures>(std::move(made));
    entry.batch_size_changed = true;
  }

  TrialDecision decide() {
    const auto tree = source::SourceTree::parse(text);
    SourceFacts facts;
    facts.entry_point = source::find_entry_point(*tree);
    TrialConditions conditions{settings, &entry, text};
    conditions.source = facts.entry_point.has_value() ? &facts : nullptr;
    conditions.is_busy = busy;
    conditions.available_bytes = available;
    const auto has_consent = [this] {
      ++asked;
      return consent;
    };
    return decide_trial(conditions, has_consent);
  }
};

TEST(DecideTrial, TriesWhatFitsIsShortAndMayRun) {
  Settled settled;
  const TrialDecision decision = settled.decide();
  EXPECT_EQ(decision.kind, Kind::kTry);
  EXPECT_EQ(decision.batch_size, 12);
  EXPECT_EQ(decision.profile_id, "profile");
}

TEST(DecideTrial, RunsNothingWithoutConsent) {
  Settled settled;
  settled.consent = false;
  EXPECT_EQ(settled.decide().kind, Kind::kNothing);
  EXPECT_EQ(settled.asked, 1);
}

TEST(DecideTrial, RespectsTheSettings) {
  Settled settled;
  settled.settings.try_batch_sizes = false;
  EXPECT_EQ(settled.decide().kind, Kind::kNothing);
  settled.settings = {};
  settled.settings.profile_on_save = false;
  EXPECT_EQ(settled.decide().kind, Kind::kNothing);
  EXPECT_EQ(settled.asked, 0);
}

TEST(DecideTrial, RefusesWhatMayNotFit) {
  Settled settled;
  settled.available = 2000;
  EXPECT_EQ(settled.decide().kind, Kind::kRefused);
  EXPECT_THAT(settled.decide().why, HasSubstr("may not fit"));
  EXPECT_EQ(settled.asked, 0);
}

TEST(DecideTrial, RefusesWhatTakesTooLong) {
  Settled settled(100);
  EXPECT_EQ(settled.decide().kind, Kind::kRefused);
  EXPECT_THAT(settled.decide().why, HasSubstr("could take"));
  EXPECT_EQ(settled.asked, 0);
}

TEST(DecideTrial, HasNothingToTryAtASizeThatWasMeasured) {
  Settled settled;
  settled.text = entry_text(16);
  EXPECT_EQ(settled.decide().kind, Kind::kNothing);
  EXPECT_EQ(settled.asked, 0);
}

TEST(DecideTrial, WaitsForTheProfileThatGoesOnAndForEdits) {
  Settled settled;
  settled.entry.active = 7;
  EXPECT_EQ(settled.decide().kind, Kind::kLater);
  settled.entry.active.reset();
  settled.busy = true;
  EXPECT_EQ(settled.decide().kind, Kind::kLater);
}

TEST(DecideTrial, IsOfTheCodeThatWasProfiled) {
  Settled settled;
  settled.text += "import os\n";
  EXPECT_EQ(settled.decide().kind, Kind::kRefused);
  EXPECT_THAT(settled.decide().why, HasSubstr("other code has changed"));
  Settled changed;
  changed.entry.changed.insert(kEntryPath);
  EXPECT_EQ(changed.decide().kind, Kind::kRefused);
  Settled other;
  other.entry.changed.insert("/project/net.py");
  EXPECT_EQ(other.decide().kind, Kind::kRefused);
  Settled failed;
  failed.entry.failed = FailedRun{};
  EXPECT_EQ(failed.decide().kind, Kind::kRefused);
}

}  // namespace
}  // namespace ridgeline::editor
