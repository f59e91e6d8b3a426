#include "analysis/compare/compare_profiles.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "tests/unit/analysis/compare/profiles.h"

namespace ridgeline::analysis {
namespace {

using testing::again;
using testing::line;
using testing::profile_of;

Profile typical() {
  return profile_of({line(1, "a", 40, 4000), line(2, "b", 30, 3000), line(3, "c", 20, 2000), line(4, "d", 9.5, 900),
                     line(5, "e", 0.5, 100)});
}

Comparison of(const Profile& before, const Profile& after) { return compare({"a", {&before}}, {"b", {&after}}, {}); }

const LineChange& at(const Comparison& comparison, std::uint32_t number) {
  return *std::ranges::find(comparison.lines, number, [](const LineChange& one) { return one.after.line; });
}

bool is_alarm(const Comparison& comparison) {
  const auto differs = [](const auto& change) { return change.time && change.time->outcome == Outcome::kDiffers; };
  return comparison.step.outcome == Outcome::kDiffers || std::ranges::any_of(comparison.phases, differs) ||
         std::ranges::any_of(comparison.modules, differs) || std::ranges::any_of(comparison.lines, differs);
}

TEST(Compare, FindsTheLineThatBecameSlower) {
  const Comparison comparison =
      of(typical(),
         profile_of({line(1, "a", 40, 4000), line(2, "b", 36, 3000), line(3, "c", 20, 2000), line(4, "d", 9.5, 900)}));
  EXPECT_EQ(comparison.step.outcome, Outcome::kDiffers);
  EXPECT_EQ(at(comparison, 2).time->outcome, Outcome::kDiffers);
  EXPECT_NEAR(at(comparison, 2).time->change, 0.2, 1e-9);
  EXPECT_NE(at(comparison, 1).time->outcome, Outcome::kDiffers);
  EXPECT_EQ(comparison.modules[1].name, "module2");
  EXPECT_EQ(comparison.modules[1].time->outcome, Outcome::kDiffers);
}

TEST(Compare, SaysNothingOfTimesOfABusyMachine) {
  const Profile before = profile_of({line(1, "a", 100, 4000)});
  Profile after = profile_of({line(1, "a", 900, 4000)});
  EXPECT_TRUE(is_alarm(of(before, after)));
  after.environment.others_used = 1.5;
  for (const Comparison& comparison : {of(before, after), of(after, before)}) {
    EXPECT_FALSE(is_alarm(comparison));
    EXPECT_FALSE(comparison.step.bounds.has_value());
    EXPECT_EQ(comparison.peak->outcome, Outcome::kNoDifference);
  }
}

TEST(Compare, EnergyDiffersWhereNoTwoRoundsAgree) {
  const auto taking = [](double joules) {
    Profile profile = typical();
    profile.energy = protocol::StepEnergy{
        {{"package-0", protocol::EnergyOf::kProcessor, joules, 20}}, joules, 0.98 * joules, 1.02 * joules, 60, 6, 100};
    return profile;
  };
  const Comparison comparison = of(taking(10), taking(12));
  ASSERT_TRUE(comparison.energy.has_value());
  EXPECT_EQ(comparison.energy->outcome, Outcome::kDiffers);
  EXPECT_NEAR(comparison.energy->bounds.low, 12 * 0.98 - 10 * 1.02, 1e-9);
  EXPECT_EQ(of(taking(10), taking(10)).energy->outcome, Outcome::kNoDifference);
  EXPECT_EQ(of(taking(10), taking(10.3)).energy->outcome, Outcome::kUndecided);
  EXPECT_FALSE(of(taking(10), typical()).energy.has_value());
}

TEST(Compare, LeavesOutWhatIsTooSmallToMatter) {
  const Comparison comparison = of(typical(), typical());
  EXPECT_FALSE(at(comparison, 5).time.has_value());  // 0.5 % of the step; but 1 % of the peak
  EXPECT_TRUE(at(comparison, 5).memory.has_value());
}

TEST(Compare, SaysWhatALineHasInMemory) {
  Profile after = typical();
  after.lines[2].peak_bytes += 600;
  after.peak_bytes += 600;
  const Comparison comparison = of(typical(), after);
  EXPECT_EQ(comparison.peak->outcome, Outcome::kDiffers);
  EXPECT_EQ(at(comparison, 3).memory->outcome, Outcome::kDiffers);
  EXPECT_EQ(at(comparison, 1).memory->outcome, Outcome::kNoDifference);
}

TEST(Compare, ShowsLinesThatOnlyOneVersionHas) {
  const Comparison comparison = of(typical(), profile_of({line(1, "a", 40), line(2, "b", 30), line(4, "d", 9.5)}));
  const auto removed = std::ranges::find(comparison.lines, Presence::kRemoved, &LineChange::presence);
  ASSERT_NE(removed, comparison.lines.end());
  EXPECT_EQ(removed->before.line, 3U);
  EXPECT_EQ(removed->time->outcome, Outcome::kDiffers);
  EXPECT_FALSE(removed->time->bounds.has_value());
}

TEST(Compare, NotesWhatIsNotTheSame) {
  Profile after = typical();
  after.batch_size = 16;
  EXPECT_THAT(of(typical(), after).notes, ::testing::Contains("The batch sizes differ: 8 before, 16 after."));
}

/// Of 500 comparisons of the same code, how many say that anything differs.
int alarms(std::size_t runs, double of_run, double of_line) {
  std::mt19937_64 random(7);
  int count = 0;
  for (int i = 0; i < 500; ++i) {
    std::vector<Profile> all;
    for (std::size_t run = 0; run < 2 * runs; ++run) {
      all.push_back(again(typical(), random, of_run, of_line));
    }
    Side before{"a", {}};
    Side after{"b", {}};
    for (std::size_t run = 0; run < runs; ++run) {
      before.runs.push_back(&all[2 * run]);
      after.runs.push_back(&all[2 * run + 1]);
    }
    count += is_alarm(compare(before, after, {.in_turns = runs > 1})) ? 1 : 0;
  }
  return count;
}

TEST(Compare, NotesOtherSettingsOfThreads) {
  Profile before = typical();
  Profile after = typical();
  const auto notes = [&] { return of(before, after).notes; };
  after.environment.thread_settings = {"OMP_WAIT_POLICY=passive"};
  EXPECT_THAT(notes(), ::testing::Not(::testing::Contains(::testing::HasSubstr("settings of threads")))) << "not known";
  before.environment.thread_settings.emplace();
  EXPECT_THAT(notes(), ::testing::Contains(::testing::HasSubstr("none before, OMP_WAIT_POLICY=passive after")));
  before.environment.thread_settings = after.environment.thread_settings;
  EXPECT_THAT(notes(), ::testing::Not(::testing::Contains(::testing::HasSubstr("settings of threads"))));
}

TEST(Compare, HasFewFalseAlarmsHoweverManyFiguresItCompares) {
  // 5 % of 500, with three standard errors.
  EXPECT_LE(alarms(1, 0.01, 0.002), 40);
  EXPECT_LE(alarms(6, 0.05, 0.02), 40);
}

}  // namespace
}  // namespace ridgeline::analysis
