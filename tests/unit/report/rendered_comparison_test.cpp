#include "report/rendered_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "expected.h"

namespace ridgeline::report {
namespace {

using analysis::Bounds;
using analysis::MemoryChange;
using analysis::Outcome;
using analysis::Presence;
using analysis::TimeChange;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TimeChange slower() { return {135, 151, 0.1185, Bounds{0.091, 0.148}, Outcome::kDiffers}; }
TimeChange faster() { return {60, 30, -0.5, Bounds{-0.53, -0.47}, Outcome::kDiffers}; }
TimeChange the_same() { return {20, 20.1, 0.005, Bounds{-0.012, 0.023}, Outcome::kNoDifference}; }
TimeChange undecided() { return {8, 8.2, 0.025, Bounds{-0.04, 0.09}, Outcome::kUndecided}; }
TimeChange unmeasured() { return {8, 8.2, 0.025, std::nullopt, Outcome::kUndecided}; }
TimeChange added() { return {0, 12, 0, std::nullopt, Outcome::kDiffers}; }
TimeChange removed() { return {3, 0, 0, std::nullopt, Outcome::kDiffers}; }

MemoryChange more() { return {600 * kMiB, 662 * kMiB, {62.0 * kMiB, 62.0 * kMiB}, Outcome::kDiffers}; }
MemoryChange less() { return {64 * kMiB, 0, {-64.0 * kMiB, -64.0 * kMiB}, Outcome::kDiffers}; }
MemoryChange as_much() { return {kMiB, kMiB, {0, 0}, Outcome::kNoDifference}; }
MemoryChange about_as_much() { return {kMiB, kMiB, {-2048, 4096}, Outcome::kNoDifference}; }
MemoryChange unclear() { return {kMiB, 2 * kMiB, {-12.0 * kMiB, 62.0 * kMiB}, Outcome::kUndecided}; }

analysis::LineChange compared_line(Presence presence, std::uint32_t before, std::uint32_t after, std::string text,
                                   std::optional<TimeChange> time) {
  analysis::LineChange change;
  change.presence = presence;
  if (before > 0) {
    change.before = {"model/net.py", before};
  }
  if (after > 0) {
    change.after = {"model/net.py", after};
  }
  change.before_text = before > 0 ? text : "";
  change.after_text = after > 0 ? std::move(text) : "";
  change.time = time;
  return change;
}

/// With every outcome, and every way in which a line can correspond to another.
analysis::Comparison full_comparison() {
  analysis::Comparison all;
  all.before = {"before.json", "/project/entry.py", 16, "Some Processor", "2.13.0", 1};
  all.after = {"after.json", "/project/entry.py", 32, "Some Processor", "2.13.0", 1};
  all.margin = 0.05;
  all.step = slower();
  all.peak = more();
  all.phases = {{"forward", slower(), std::nullopt}, {"backward", undecided(), std::nullopt}};
  all.categories = {{"activations", std::nullopt, more()}, {"weights", std::nullopt, as_much()}};
  all.modules = {{"Net.layer1.0.conv1", faster(), less()}, {"Net.layer1.0.conv2", the_same(), unclear()}};
  all.lines = {compared_line(Presence::kSame, 11, 12, "x = self.conv1(x)", slower()),
               compared_line(Presence::kMoved, 40, 21, "x = x | y  # a pipe, <b>, and `ticks`", faster()),
               compared_line(Presence::kEdited, 13, 14, "x = self.pool(x)", the_same()),
               compared_line(Presence::kAdded, 0, 15, "x = x.clone()", added()),
               compared_line(Presence::kRemoved, 16, 0, "x = x.contiguous()", removed()),
               compared_line(Presence::kSame, 17, 17, "return x", unmeasured())};
  all.lines[0].memory = more();
  all.notes = {"The batch sizes differ: 16 before, 32 after."};
  return all;
}

/// Two versions that do not differ.
analysis::Comparison equal_versions() {
  analysis::Comparison all = full_comparison();
  all.before.name = "HEAD~1";
  all.after.name = "HEAD";
  all.before.runs = all.after.runs = 6;
  all.after.batch_size = 16;
  all.in_turns = true;
  all.step = the_same();
  all.peak = about_as_much();
  all.phases = {{"forward", the_same(), std::nullopt}};
  all.categories.clear();
  all.modules.clear();
  all.lines.clear();
  all.notes.clear();
  return all;
}

TEST(Comparison, AsText) {
  testing::expect_file("comparison.100.txt", comparison_text(full_comparison(), {.width = 100}));
  testing::expect_file("comparison.60.txt", comparison_text(full_comparison(), {.width = 60}));
  testing::expect_file("comparison.80.txt", comparison_text(full_comparison(), {.width = 80}));
  testing::expect_file("comparison-equal.100.txt", comparison_text(equal_versions(), {.width = 100}));
}

TEST(Comparison, AsMarkdown) {
  testing::expect_file("comparison.md", comparison_markdown(full_comparison()));
  testing::expect_file("comparison-equal.md", comparison_markdown(equal_versions()));
}

TEST(Comparison, AsHtml) {
  const std::string html = comparison_html(full_comparison());
  EXPECT_THAT(html, HasSubstr(R"(<tr class="worse"><td>Step</td>)"));
  EXPECT_THAT(html, HasSubstr("12 % slower (9.1 % to 15 %)"));
  EXPECT_THAT(html, HasSubstr("<code>x = x | y  # a pipe, &lt;b&gt;, and `ticks`</code>"));
  EXPECT_THAT(html, HasSubstr("because the noise is too large: "));
  EXPECT_THAT(html, HasSubstr("model/net.py:17.</p>"));
  EXPECT_THAT(html, HasSubstr("The batch sizes differ"));
  const std::string equal = comparison_html(equal_versions());
  EXPECT_THAT(equal, HasSubstr(R"(<tr class=""><td>Step</td>)"));
  EXPECT_THAT(equal, HasSubstr("The runs alternated."));
  EXPECT_THAT(equal, Not(HasSubstr("<h2>")));
}

TEST(Comparison, SaysEachOutcome) {
  EXPECT_EQ(time_change_text(slower()), "12 % slower (9.1 % to 15 %)");
  EXPECT_EQ(time_change_text(faster()), "50 % faster (47 % to 53 %)");
  EXPECT_EQ(time_change_text(the_same()), "no difference beyond 2.3 %");
  EXPECT_EQ(time_change_text(undecided()), "undecided (4.0 % faster to 9.0 % slower)");
  EXPECT_EQ(time_change_text(unmeasured()), "undecided (too little was measured, or the machine was busy)");
  EXPECT_EQ(time_change_text(added()), "new");
  EXPECT_EQ(time_change_text(removed()), "gone");
  EXPECT_EQ(memory_change_text(more()), "62.0 MiB more");
  EXPECT_EQ(memory_change_text(less()), "64.0 MiB less");
  EXPECT_EQ(memory_change_text(as_much()), "no difference");
  EXPECT_EQ(memory_change_text(about_as_much()), "no difference beyond 4.00 KiB");
  EXPECT_EQ(memory_change_text(unclear()), "undecided (12.0 MiB less to 62.0 MiB more)");
}

TEST(Comparison, NamesTheFileThatALineCameFrom) {
  analysis::Comparison moved = full_comparison();
  moved.lines[1].before.file = "model/parts.py";
  EXPECT_THAT(comparison_markdown(moved), HasSubstr("| model/net.py:21 moved from model/parts.py:40 "));
}

TEST(Comparison, FoldsWhatIsTooMuchForAPage) {
  analysis::Comparison many = full_comparison();
  for (std::uint32_t number = 100; number < 200; ++number) {
    many.lines.push_back(compared_line(Presence::kSame, number, number, "x = f(x)", slower()));
  }
  EXPECT_THAT(comparison_markdown(many), HasSubstr("… 76 more"));
  EXPECT_THAT(comparison_text(many, {.max_lines = 5}), HasSubstr("… 96 more"));
}

TEST(Comparison, ShowsTextFromOutsideAsText) {
  analysis::Comparison hostile = full_comparison();
  hostile.after.name = "a|b\x1b[31m\n# <img src=x>";
  hostile.lines[0].after.file = "net\x1b[31m.py";
  hostile.lines[0].after_text = "x\x1b[31m | `y`";
  hostile.notes = {"[a](command:b)\x1b[31m"};
  EXPECT_THAT(comparison_text(hostile), Not(HasSubstr("\x1b")));
  const std::string markdown = comparison_markdown(hostile);
  EXPECT_THAT(markdown, Not(HasSubstr("\x1b")));
  EXPECT_THAT(markdown, Not(HasSubstr("\n# ")));
  EXPECT_THAT(markdown, Not(HasSubstr("[a](")));
  EXPECT_THAT(markdown, Not(HasSubstr(" <img")));
  const std::string html = comparison_html(hostile);
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
}

}  // namespace
}  // namespace ridgeline::report
