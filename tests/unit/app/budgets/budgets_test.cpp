#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/budgets/evaluate.h"
#include "app/budgets/findings_text.h"
#include "app/budgets/parse_budgets.h"
#include "tests/unit/analysis/compare/profiles.h"

namespace ridgeline::app {
namespace {

using analysis::testing::line;
using analysis::testing::profile_of;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTable = "[tool.ridgeline.budgets.\"entry.py\"]\n";

std::string problem(const std::string& rows) {
  const auto parsed = parse_budgets(kTable + rows, "pyproject.toml");
  return parsed ? "" : parsed.error().message();
}

/// The findings for profiles of 100 ms and 5,000 bytes, within ± 1 %.
std::vector<Finding> findings(const std::string& rows, double slower = 1) {
  const auto parsed = parse_budgets(kTable + rows, "pyproject.toml");
  EXPECT_TRUE(parsed.has_value());
  const auto step = [](double factor) {
    return profile_of({line(1, "out = self.conv(x)", 60 * factor, 3000), line(2, "b", 40 * factor, 2000)});
  };
  const analysis::Profile baseline = step(1);
  return evaluate(parsed->front(), {step(slower), step(slower), step(slower)}, &baseline, 0.05);
}

Verdict verdict(const std::string& rows, double slower = 1) { return findings(rows, slower).front().verdict; }

TEST(Budgets, AreReadWithUnitsAndPlaces) {
  const auto parsed = parse_budgets(std::string(kTable) + "max-time = \"1.5 s\"\nmax-memory = \"2 GiB\"\n", "p");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message();
  ASSERT_EQ(parsed->front().budgets.size(), 2U);
  EXPECT_DOUBLE_EQ(parsed->front().budgets[0].limit, 1500);
  EXPECT_DOUBLE_EQ(parsed->front().budgets[1].limit, 2147483648.0);
  EXPECT_EQ(parsed->front().budgets[1].line, 3U);
}

TEST(Budgets, ThatAreWrongAreNamedWithTheirPlace) {
  EXPECT_EQ(problem("max-tiem = \"1 s\"\n"), "pyproject.toml:2:1: there is no budget max-tiem. Did you mean max-time?");
  EXPECT_THAT(problem("max-time = 150\n"), HasSubstr("pyproject.toml:2:12: write a text, such as \"150 ms\""));
  EXPECT_THAT(problem("max-time = \"150\"\n"), HasSubstr("units µs, us, ms, s, min"));
  EXPECT_THAT(problem("max-slowdown = \"5 %\"\n"), HasSubstr("add baseline"));
  EXPECT_THAT(problem("max-time = \n"), HasSubstr("pyproject.toml:2:"));
  EXPECT_THAT(problem(""), HasSubstr("there is no budget for entry.py"));
  EXPECT_TRUE(parse_budgets("[project]\nname = \"x\"\n", "p")->empty());
}

TEST(Budgets, AreJudgedByTheInterval) {
  EXPECT_EQ(verdict("max-time = \"110 ms\"\n"), Verdict::kWithin);
  EXPECT_EQ(verdict("max-time = \"90 ms\"\n"), Verdict::kOver);
  EXPECT_EQ(verdict("max-time = \"100 ms\"\n"), Verdict::kUndecided);
  EXPECT_EQ(verdict("min-throughput = \"70 samples/s\"\n"), Verdict::kWithin);
  EXPECT_EQ(verdict("min-throughput = \"90 samples/s\"\n"), Verdict::kOver);
  EXPECT_EQ(verdict("max-memory = \"5 kB\"\n"), Verdict::kWithin);
  EXPECT_EQ(verdict("max-memory = \"4.9 kB\"\n"), Verdict::kOver);
  EXPECT_EQ(verdict("baseline = \"b\"\nmax-slowdown = \"5 %\"\n", 1.2), Verdict::kOver);
  EXPECT_EQ(verdict("baseline = \"b\"\nmax-slowdown = \"30 %\"\n", 1.2), Verdict::kWithin);
  EXPECT_EQ(verdict("baseline = \"b\"\nmax-slowdown = \"20 %\"\n", 1.2), Verdict::kUndecided);
}

/// A step of 8 samples that takes 8 J, within 5 %.
analysis::Profile measured() {
  analysis::Profile profile = profile_of({line(1, "a", 100, 5000)});
  profile.energy =
      protocol::StepEnergy{{{"package-0", protocol::EnergyOf::kProcessor, 8, 20}}, 8, 7.6, 8.4, 60, 6, 100};
  return profile;
}

Finding energy_finding(const std::string& row, const std::vector<analysis::Profile>& runs) {
  const auto parsed = parse_budgets(kTable + row, "p");
  EXPECT_TRUE(parsed.has_value());
  return evaluate(parsed->front(), runs, nullptr, 0.05).front();
}

TEST(Budgets, EnergyIsJudgedByTheRounds) {
  const std::vector<analysis::Profile> runs = {measured(), measured()};
  EXPECT_EQ(energy_finding("max-energy = \"8.5 J\"\n", runs).verdict, Verdict::kWithin);
  EXPECT_EQ(energy_finding("max-energy = \"7500 mJ\"\n", runs).verdict, Verdict::kOver);
  EXPECT_EQ(energy_finding("max-energy = \"8 J\"\n", runs).verdict, Verdict::kUndecided);
  EXPECT_EQ(energy_finding("max-energy-per-sample = \"1.1 J\"\n", runs).verdict, Verdict::kWithin);
  EXPECT_EQ(energy_finding("max-energy-per-sample = \"1.1 J\"\n", runs).measured, "950 mJ to 1.05 J");
}

TEST(Budgets, EnergyIsUndecidedWithoutCounters) {
  const Finding finding = energy_finding("max-energy = \"8.5 J\"\n", {measured(), profile_of({line(1, "a", 100)})});
  EXPECT_EQ(finding.verdict, Verdict::kUndecided);
  EXPECT_THAT(finding.measured, HasSubstr("ridgeline doctor"));
}

/// Others can only make a step slower, and by any factor: nothing is said of its time, but of its memory.
TEST(Budgets, TimeIsUndecidedWhileTheMachineIsBusy) {
  const auto parsed = parse_budgets(std::string(kTable) + "baseline = \"b\"\nmax-time = \"90 ms\"\n" +
                                        "max-slowdown = \"5 %\"\nmax-memory = \"4.9 kB\"\n",
                                    "p");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message();
  const analysis::Profile idle = profile_of({line(1, "a", 100, 5000)});
  analysis::Profile busy = profile_of({line(1, "a", 900, 5000)});
  busy.environment.others_used = 1.5;
  const auto verdicts = [&](const std::vector<analysis::Profile>& runs, const analysis::Profile& baseline) {
    std::vector<Verdict> found;
    for (const Finding& one : evaluate(parsed->front(), runs, &baseline, 0.05)) {
      found.push_back(one.verdict);
    }
    return found;
  };
  EXPECT_THAT(verdicts({busy, busy, busy}, idle),
              ::testing::ElementsAre(Verdict::kUndecided, Verdict::kUndecided, Verdict::kOver));
  EXPECT_THAT(verdicts({busy, idle, busy}, idle),
              ::testing::ElementsAre(Verdict::kOver, Verdict::kWithin, Verdict::kOver));
  EXPECT_THAT(verdicts({idle}, busy), ::testing::ElementsAre(Verdict::kOver, Verdict::kUndecided, Verdict::kOver));
}

TEST(Budgets, LinesAndModulesAreSelectedByPatterns) {
  EXPECT_EQ(verdict("lines.\"*self.conv(*\".max-time = \"70 ms\"\n"), Verdict::kWithin);
  EXPECT_EQ(verdict("modules.\"module?\".max-memory = \"4 kB\"\n"), Verdict::kOver);
  EXPECT_EQ(verdict("modules.nothing.max-memory = \"4 kB\"\n"), Verdict::kNoMatch);
  EXPECT_TRUE(matches_pattern("a*c?", "abbcd"));
  EXPECT_FALSE(matches_pattern("a*c?", "abbc"));
  EXPECT_TRUE(matches_pattern("*", ""));
}

TEST(Findings, EscapeWhatComesFromOutside) {
  const EntryFindings entry{"a:b,c\n::error::x.py", 1, 1, {{{.text = "lines <&\">: 100 %"}, Verdict::kOver, "1 ms"}}};
  const std::string github = findings_github(entry, "py,project.toml");
  EXPECT_THAT(github, HasSubstr("file=py%2Cproject.toml,"));
  EXPECT_THAT(github, HasSubstr("title=a%3Ab%2Cc %3A%3Aerror%3A%3Ax.py::"));
  EXPECT_THAT(github, HasSubstr("100 %25"));
  EXPECT_EQ(std::count(github.begin(), github.end(), '\n'), 1);
  const std::string junit = findings_junit({entry});
  EXPECT_THAT(junit, HasSubstr("lines &lt;&amp;&quot;&gt;: 100 %"));
  EXPECT_THAT(junit, Not(HasSubstr("<&")));
  EXPECT_THAT(junit, HasSubstr("failures=\"1\""));
}

}  // namespace
}  // namespace ridgeline::app
