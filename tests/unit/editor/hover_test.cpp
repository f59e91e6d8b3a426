#include "editor/hover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "editor/costliest.h"
#include "report/labels.h"

namespace ridgeline::editor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNetPath = "/project/net.py";
constexpr const char* kNetText = "x = self.act(self.one(x))\nx = self.act(self.two(x))\n";

/// A line whose time is all its own.
analysis::LineCost net_line(std::uint32_t number, double ms) {
  analysis::LineCost cost;
  cost.location = {"net.py", number};
  cost.self_ms = cost.total_ms = ms;
  return cost;
}

analysis::Node net_module(const std::string& name, std::uint32_t number, double ms) {
  analysis::Node node;
  node.name = name;
  node.type = "Module";
  node.location = {"net.py", number};
  node.ms = ms;
  return node;
}

/// Two lines, which call a module each, and `act` both.
analysis::Profile net_profile() {
  analysis::Profile profile;
  profile.project_root = "/project";
  profile.entry_path = kNetPath;
  profile.batch_size = 8;
  profile.iteration.ms = {100, 99, 101};
  profile.lines = {net_line(1, 61), net_line(2, 39)};
  analysis::Node act = net_module("act", 1, 10);
  act.peak_bytes = 3072;
  act.callers = {{{"net.py", 1}, 7, {7}, 2048, 0}, {{"net.py", 2}, 3, {3}, 1024, 0}};
  analysis::Node inside = net_module("relu", 1, 10);
  inside.type.clear();
  act.children = {inside};
  profile.schedule.emplace();
  profile.schedule->lines = {{{"net.py", 1}, {.critical_ms = 61, .saved_twice_as_fast_ms = 30.5}}};
  profile.breakdown.ms = 100;
  profile.breakdown.children = {net_module("one", 1, 54), net_module("two", 2, 36), act};
  return profile;
}

/// `comparison` is with the profile before, and may be null.
std::shared_ptr<Entry> net_entry(std::shared_ptr<const analysis::Comparison> comparison,
                                 analysis::Profile profile = net_profile()) {
  app::ProfileWithSources made;
  made.profile = std::move(profile);
  made.sources = {{kNetPath, kNetText}};
  auto entry = std::make_shared<Entry>();
  entry->path = kNetPath;
  entry->figures = std::make_shared<const Figures>(std::move(made));
  entry->comparison = std::move(comparison);
  return entry;
}

/// What the hover over a line of kNetText says.
std::string hover_of(std::uint32_t number, std::shared_ptr<const analysis::Comparison> comparison = nullptr,
                     analysis::Profile profile = net_profile()) {
  const auto entry = net_entry(std::move(comparison), std::move(profile));
  Snapshot snapshot{{{"file:///project/net.py", "python", 1, kNetText}, kNetPath, lsp::PositionEncoding::kUtf8},
                    std::make_shared<const SourceFacts>(),
                    std::make_shared<const Settings>(),
                    {}};
  snapshot.entry = entry;
  HoverParams params;
  params.position = {number - 1, 1};
  const auto found = hover(snapshot, params, [](const std::string& path) { return "file://" + path; });
  return found ? found->contents.value.markup() : "";
}

std::shared_ptr<const analysis::Comparison> comparison_of(std::uint32_t number, const analysis::TimeChange& time) {
  analysis::LineChange change;
  change.after = {"net.py", number};
  change.time = time;
  analysis::Comparison comparison;
  comparison.lines = {change};
  return std::make_shared<const analysis::Comparison>(std::move(comparison));
}

TEST(Hover, NamesAModuleOnEachLineThatCallsItWithItsPart) {
  const std::string first = hover_of(1);
  EXPECT_THAT(first, HasSubstr("| `one (Module)` | 54.0 ms |          54 % |      0 B |"));
  EXPECT_THAT(first, HasSubstr("| `act (Module)` | 7.00 ms |         7.0 % | 2.00 KiB |"));
  const std::string second = hover_of(2);
  EXPECT_THAT(second, HasSubstr("| `act (Module)` | 3.00 ms |         3.0 % | 1.00 KiB |"));
  EXPECT_THAT(second, Not(HasSubstr("relu"))) << "it is inside of act";
}

TEST(Hover, LeadsOnToTheModulesInsideOfASingleCall) {
  analysis::Profile profile = net_profile();
  analysis::Node net = net_module("net", 1, 90);
  for (const auto& [name, ms] : {std::pair{"a", 40.0}, {"b", 30.0}, {"c", 15.0}, {"d", 5.0}}) {
    net.children.push_back(net_module(name, 2, ms));
  }
  net.children[1].definition = {"net.py", 7};
  profile.lines[0].self_ms = 1;
  profile.lines[0].total_ms = 91;
  profile.breakdown.children = {net};
  const std::string text = hover_of(1, nullptr, profile);
  EXPECT_THAT(text, HasSubstr("costliest modules below"));
  EXPECT_THAT(text, HasSubstr("[`a (Module)`](file:///project/net.py#L2)"));
  EXPECT_THAT(text, HasSubstr("[`b (Module)`](file:///project/net.py#L7)")) << "where its class is";
  EXPECT_THAT(text, HasSubstr("[`c (Module)`]"));
  EXPECT_THAT(text, Not(HasSubstr("`d (Module)`")));
  profile.breakdown.children[0].callers = {{{"net.py", 1}, 45, {45}, 0, 0}, {{"net.py", 2}, 45, {45}, 0, 0}};
  EXPECT_THAT(hover_of(1, nullptr, profile), Not(HasSubstr("modules below"))) << "which call they are of is not known";
}

TEST(Hover, SaysWhatALineDiffersByFromTheProfileBefore) {
  const analysis::TimeChange slower{50, 61, 0.22, analysis::Bounds{0.18, 0.26}, analysis::Outcome::kDiffers};
  EXPECT_THAT(hover_of(1, comparison_of(1, slower)),
              HasSubstr("22 % slower than in the profile before: 61.0 ms, was 50.0 ms"));
  EXPECT_THAT(hover_of(2, comparison_of(1, slower)), Not(HasSubstr("the profile before"))) << "another line";
  EXPECT_THAT(hover_of(1), Not(HasSubstr("the profile before"))) << "there is none";
}

TEST(Costliest, SaysWhatALineDiffersByFromTheProfileBefore) {
  const analysis::TimeChange slower{50, 61, 0.22, analysis::Bounds{0.18, 0.26}, analysis::Outcome::kDiffers};
  const auto uri_of = [](const std::string& path) { return "file://" + path; };
  const auto found = costliest_json(*net_entry(comparison_of(1, slower)), uri_of);
  const protocol::Json change = {{"part", 0.22},
                                 {"label", "+22 %"},
                                 {"explanation", "22 % slower than in the profile before: 61.0 ms, was 50.0 ms"}};
  EXPECT_EQ(found.at("lines").at(0).at("change"), change);
  EXPECT_EQ(found.at("lines").at(1).at("change"), nullptr) << "another line";
  EXPECT_EQ(found.at("operations").at(0).at("change"), nullptr) << "not a line";
  EXPECT_EQ(costliest_json(*net_entry(nullptr), uri_of).at("lines").at(0).at("change"), nullptr);
}

TEST(Hover, TheChangeOfALineHasALabelForAColumn) {
  const analysis::Bounds bounds{-0.9, 40};
  EXPECT_EQ(report::line_change_label({50, 61, 0.22, bounds, analysis::Outcome::kDiffers}), "+22 %");
  EXPECT_EQ(report::line_change_label({61, 50, -0.18, bounds, analysis::Outcome::kDiffers}), "−18 %");
  EXPECT_EQ(report::line_change_label({1, 31, 30, bounds, analysis::Outcome::kDiffers}), "31×");
  EXPECT_EQ(report::line_change_label({50, 61, 0.22, bounds, analysis::Outcome::kUndecided}), "");
}

TEST(Hover, SaysWhatTheStepGainsFromALineThatIsTwiceAsFast) {
  EXPECT_THAT(hover_of(1), HasSubstr("If this line took half the time, the step would take 30.5 ms (30 %) less"));
  EXPECT_THAT(hover_of(2), Not(HasSubstr("Twice as fast"))) << "the critical path does not have it";
}

TEST(Hover, SaysNothingOfADifferenceWithinTheNoise) {
  for (const analysis::Outcome outcome : {analysis::Outcome::kNoDifference, analysis::Outcome::kUndecided}) {
    const analysis::TimeChange time{60, 61, 0.017, analysis::Bounds{-0.02, 0.05}, outcome};
    EXPECT_THAT(hover_of(1, comparison_of(1, time)), Not(HasSubstr("the profile before")));
  }
  const analysis::TimeChange added{0, 61, 0, std::nullopt, analysis::Outcome::kDiffers};
  EXPECT_THAT(hover_of(1, comparison_of(1, added)), Not(HasSubstr("the profile before"))) << "there is no ratio";
}

}  // namespace
}  // namespace ridgeline::editor
