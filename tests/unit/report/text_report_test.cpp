#include "report/text_report.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/prediction/answers.h"
#include "analysis/time/noise.h"
#include "expected.h"
#include "report/units.h"
#include "report/work_text.h"
#include "sample_profile.h"
#include "tests/unit/rounds.h"

namespace ridgeline::report {
namespace {

using analysis::Node;
using analysis::Profile;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string report(const Profile& profile, int width = 120, bool color = false) {
  return text_report(profile, analysis::outlook_of(profile), testing::resnet_source, {.width = width, .color = color});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// Without the escapes, and without the blanks that an escape kept at the end of a line.
std::string unpainted(const std::string& painted) {
  std::string text;
  for (std::string line : lines_of(painted)) {
    for (std::size_t at = 0; (at = line.find('\x1b')) != std::string::npos;) {
      line.erase(at, line.find('m', at) - at + 1);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

/// Every string, path and figure as a hostile or very large program would have it.
Profile hostile_profile() {
  Profile profile = testing::resnet_profile();
  const std::string name = "\x1b]0;owned\a\u202Eモデル/" + std::string(90, 'x') + "\xFF\r\n";
  profile.entry_path = profile.project_root + "/" + name + "/entry.py";
  profile.environment.device = "cuda";
  profile.environment.device_name = name;
  profile.environment.torch = name;
  profile.warnings = {name, name + " " + name};
  profile.skipped = {{1 << 30, protocol::FailureKind::kException, name + name + name + name + name}};
  profile.iteration.ms = {9.99e8, 1, 9.99e9};
  profile.samples_per_second = 9.87654e12;
  profile.max_samples_per_second = 1e-3;
  for (analysis::OtherCost& other : profile.other) {
    other = {name, 1e8, std::uint64_t{1} << 62};
  }
  for (analysis::LineCost& line : profile.lines) {
    line.location = {name, 4294967295U};
    line.calls = 123456789;
    line.total_ms = 1e9;
  }
  const auto rename = [&](auto& self, Node& node) -> void {
    node.name = node.type = name;
    node.location = {name, 7};
    node.calls = 1U << 31U;
    for (Node& child : node.children) {
      self(self, child);
    }
  };
  rename(rename, profile.breakdown);
  return profile;
}

TEST(TextReport, IsAsExpected) {
  testing::expect_file("resnet.50.txt", report(testing::resnet_profile(), 50));
  testing::expect_file("resnet.80.txt", report(testing::resnet_profile(), 80));
  testing::expect_file("resnet.120.txt", report(testing::resnet_profile(), 120));
  testing::expect_file("minimal.80.txt", report(testing::minimal_profile(), 80));
  testing::expect_file("minimal.120.txt", report(testing::minimal_profile(), 120));
}

TEST(TextReport, SaysWhatTheDeviceStandsInFor) {
  Profile profile = testing::resnet_profile();
  profile.environment.in_place_of = "cuda";
  EXPECT_THAT(lines_of(report(profile, 80))[0], HasSubstr(" · cpu in place of cuda · torch 2.13.0+cpu"));
}

TEST(TextReport, FitsEveryWidth) {
  const SourceLines hostile = [](const auto&) { return "\x1b[2J日本語 = " + std::string(200, 'y'); };
  for (int width = 40; width <= 140; width += ridgeline::testing::rounds(1, 6)) {
    for (const Profile& profile : {testing::resnet_profile(), testing::minimal_profile(), hostile_profile()}) {
      for (const std::string& line :
           lines_of(text_report(profile, analysis::outlook_of(profile), hostile, {.width = width}))) {
        EXPECT_LE(columns(line), width) << line;
        EXPECT_FALSE(line.ends_with(' ')) << line;
        EXPECT_EQ(printable(line), line);
      }
    }
  }
}

TEST(TextReport, TakesOtherWidthsAsTheNearest) {
  const Profile profile = testing::resnet_profile();
  EXPECT_EQ(report(profile, 0), report(profile, 40));
  EXPECT_EQ(report(profile, 1000), report(profile, 140));
}

TEST(TextReport, ColoursWithoutChangingTheText) {
  const std::string painted = report(testing::resnet_profile(), 100, true);
  EXPECT_THAT(painted, HasSubstr("\x1b[1m"));
  EXPECT_EQ(unpainted(painted), report(testing::resnet_profile(), 100));
}

TEST(TextReport, NamesTheEntryFromTheProject) {
  Profile profile = testing::minimal_profile();
  profile.entry_path = "/home/user/project/train/entry.py";
  const auto path = [&](const std::string& root) {
    profile.project_root = root;
    const std::string text = report(profile);
    return text.substr(0, text.find(" ·"));
  };
  EXPECT_EQ(path("/home/user/project"), "train/entry.py");
  EXPECT_EQ(path("/home/user/project/train"), "train/entry.py");
  EXPECT_EQ(path("/home/user/wo"), "/home/user/project/train/entry.py");
  EXPECT_EQ(path(""), "/home/user/project/train/entry.py");
}

TEST(TextReport, FoldsSmallSiblingsWithTheirSum) {
  Profile profile = testing::minimal_profile();
  profile.iteration.ms = {100, 100, 100};
  Node& root = profile.breakdown = testing::ResnetBuilder::node("iteration", "", {}, {});
  for (const auto& [name, ms] : {std::pair{"large", 98.2}, {"small", 0.8}, {"smaller", 0.6}, {"smallest", 0.4}}) {
    Node child = testing::ResnetBuilder::node(name, "Linear", {}, {});
    child.ms = ms;
    testing::ResnetBuilder::add(root, child);
  }
  EXPECT_THAT(report(profile), AllOf(HasSubstr("└─ … 3 more "), HasSubstr("1.80 ms   1.8 %")));
  root.children.resize(2);
  EXPECT_THAT(report(profile), HasSubstr("└─ small"));
}

/// Forty small modules, one of which holds most of the memory: it has a row.
TEST(TextReport, ShowsWhatHoldsMuchMemoryHoweverLittleTimeItTakes) {
  Profile profile = testing::minimal_profile();
  profile.iteration.ms = {100, 100, 100};
  Node& root = profile.breakdown = testing::ResnetBuilder::node("iteration", "", {}, {});
  const auto add = [&](const std::string& name, double ms, std::uint64_t bytes) {
    Node child = testing::ResnetBuilder::node(name, "Linear", {}, {});
    child.ms = ms;
    child.peak_bytes = bytes;
    testing::ResnetBuilder::add(root, child);
  };
  add("large", 98, 1 << 20);
  for (int i = 0; i < 40; ++i) {
    add("small" + std::to_string(i), 0.05, i == 23 ? 60 << 20 : 1000);
  }
  const std::string shown = report(profile);
  EXPECT_THAT(shown, HasSubstr("small23"));
  EXPECT_THAT(shown, HasSubstr("└─ … 39 more"));
}

/// A module's row and what is below it, of an iteration of 100 ms that is all in this module.
std::string tree_of(const std::vector<std::pair<double, std::uint64_t>>& leaves) {
  Profile profile = testing::minimal_profile();
  profile.iteration.ms = {100, 100, 100};
  Node module = testing::ResnetBuilder::node("module", "Linear", {}, {});
  for (const auto& [ms, bytes] : leaves) {
    Node leaf = testing::ResnetBuilder::node("leaf" + std::to_string(module.children.size()), "", {}, {});
    leaf.ms = ms;
    leaf.peak_bytes = bytes;
    testing::ResnetBuilder::add(module, leaf);
  }
  profile.breakdown = testing::ResnetBuilder::node("iteration", "", {}, {});
  testing::ResnetBuilder::add(profile.breakdown, module);
  const std::string text = report(profile);
  return text.substr(text.find("module  Linear"));
}

TEST(TextReport, OpensNoModuleForOneOperationAndItsMemory) {
  for (const auto& leaves :
       {std::vector<std::pair<double, std::uint64_t>>{{100, 0}, {0, 4000}, {0, 2000}}, {{94, 0}, {6, 0}, {0, 4000}}}) {
    EXPECT_THAT(tree_of(leaves), Not(HasSubstr("leaf")));
    EXPECT_THAT(tree_of(leaves), Not(HasSubstr("…")));
  }
}

TEST(TextReport, GivesNoRowToMemoryWithoutTime) {
  const std::string shown = tree_of({{60, 0}, {40, 0}, {0, 4000}});
  EXPECT_THAT(shown, HasSubstr("└─ leaf1"));
  EXPECT_THAT(shown, Not(HasSubstr("leaf2")));
  EXPECT_THAT(shown, Not(HasSubstr("…")));
}

TEST(TextReport, SumsMemoryWithoutTimeUpWithTheRest) {
  const std::string shown = tree_of({{60, 0}, {38.4, 0}, {0.8, 0}, {0.8, 0}, {0, 4096}, {0, 1024}});
  EXPECT_THAT(shown, HasSubstr("└─ … 4 more"));
  EXPECT_THAT(shown, HasSubstr("5.00 KiB\n"));
}

TEST(TextReport, JoinsModulesThatOnlyWrapOne) {
  Profile profile = testing::minimal_profile();
  profile.iteration.ms = {100, 100, 100};
  const auto wrap = [](const char* name, const char* type, Node child) {
    Node outer = testing::ResnetBuilder::node(name, type, {}, {});
    testing::ResnetBuilder::add(outer, std::move(child));
    return outer;
  };
  Node operation = testing::ResnetBuilder::node("addmm", "", {}, {});
  operation.ms = 100;
  Node loss = operation;
  loss.name = "loss";
  profile.breakdown = wrap("iteration", "", wrap("wrapper", "Parallel", wrap("module", "Linear", operation)));
  EXPECT_THAT(report(profile), HasSubstr("iteration › wrapper › module  Linear"));
  EXPECT_THAT(report(profile), Not(HasSubstr("addmm")));
}

TEST(TextReport, AnswersOnlyWhatTheModelsAllow) {
  Profile profile = testing::resnet_profile();
  EXPECT_THAT(report(profile), HasSubstr("batch size   a larger batch "));
  profile.capacity_bytes = std::uint64_t{1} << 30;
  EXPECT_THAT(report(profile), HasSubstr("fits         a batch of 6 is the largest that fits into 1.00 GiB.\n"));

  const std::vector<void (*)(Profile&)> unusable = {
      [](Profile& p) { p.time_model->r2 = 0.5; },
      [](Profile& p) { p.time_samples.resize(1), analysis::fit_models(p); }};
  for (const auto change : unusable) {
    Profile changed = profile;
    changed.checks.clear();
    change(changed);
    EXPECT_THAT(report(changed), Not(HasSubstr("  batch size  ")));
  }
}

TEST(TextReport, SaysWhichLinesGrow) {
  const std::string text = report(testing::resnet_profile());
  EXPECT_THAT(text, HasSubstr("for each further sample, of which resnet.py:"));
  Profile profile = testing::resnet_profile();
  profile.time_samples = {{1, {20, 20, 20}, 9}, {2, {20, 20, 20}, 9}, {4, {20, 20, 20}, 9}, {8, {40, 40, 40}, 9}};
  profile.time_model = analysis::fit_time_model(profile.time_samples);
  EXPECT_THAT(report(profile), HasSubstr("the time bends at a batch of 4: it is modelled in straight pieces."));
}

TEST(TextReport, SaysHowFarAPredictionWasOff) {
  Profile profile = testing::resnet_profile();
  profile.checks.resize(2);
  profile.checks[0].time = {3, {100, 99, 101}, 9};
  profile.checks[0].peak_bytes = 1 << 20;
  profile.checks[0].predicted_ms = analysis::Estimate{102, analysis::Interval{95, 110}};
  profile.checks[0].predicted_peak_bytes = analysis::Estimate{1 << 20, analysis::Interval{1 << 20, 1 << 20}};
  profile.checks[1].time = {32, {100, 99, 101}, 9};
  profile.checks[1].extrapolated = true;
  profile.checks[1].predicted_ms = analysis::Estimate{90, analysis::Interval{85, 95}};
  EXPECT_THAT(
      report(profile),
      HasSubstr(
          "checked      batch 3: 100 ms measured, predicted 2.0 % too high; 1.00 MiB measured, predicted exactly\n"));
  EXPECT_THAT(report(profile),
              HasSubstr("batch 32 (extrapolated): 100 ms measured, predicted 10 % too low, beyond its"));
  EXPECT_THAT(report(profile), HasSubstr("not predicted"));
}

TEST(TextReport, HasNoPartForAnyBatchWhereTheTimeGrowsFasterThanTheBatch) {
  Profile profile = testing::resnet_profile();
  profile.time_model->pieces = {{1, 71.2, 20}};
  EXPECT_THAT(report(profile), Not(HasSubstr("for any batch"))) << "a negligible part";
  profile.time_model->pieces = {{1, 71.2, 200}};
  EXPECT_THAT(report(profile), HasSubstr("200 ms for any batch"));
  profile.time_model->pieces = {{1, 71.2, -1.01}};
  EXPECT_THAT(report(profile), HasSubstr("71.2 ms for each further sample"));
  EXPECT_THAT(report(profile), Not(HasSubstr("for any batch")));
}

/// The observations, the models and the advice once contradicted each other.
TEST(TextReport, DrawsOneConclusionAboutTheBatchSize) {
  for (const double times : {1.0, 1.05, 1.5}) {
    Profile profile = testing::resnet_profile();
    profile.skipped.clear();
    profile.time_samples.back().ms = {times * profile.time_samples.back().ms.value,
                                      times * profile.time_samples.back().ms.low,
                                      times * profile.time_samples.back().ms.high};
    analysis::fit_models(profile);
    const std::string text = report(profile);
    const auto count = [&](std::string_view part) {
      std::size_t found = 0;
      for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
      }
      return found;
    };
    EXPECT_LE(count("larger batch") + count("is enough"), 1U) << text;
    EXPECT_THAT(text, Not(HasSubstr("still trains faster")));
  }
}

TEST(TextReport, WritesAnIntervalThatIsNotEven) {
  Profile profile = testing::resnet_profile();
  profile.iteration.ms = {100, 98, 102};
  EXPECT_THAT(report(profile), HasSubstr("100 ms ± 2.0 %"));
  profile.iteration.ms = {100, 98.2, 115};
  EXPECT_THAT(report(profile), HasSubstr("100 ms (98.2 ms to 115 ms)"));
}

TEST(TextReport, SaysWhenAndOfWhatTheProfileIs) {
  Profile profile = testing::resnet_profile();
  EXPECT_THAT(report(profile), Not(HasSubstr("UTC")));
  profile.provenance = {1'795'949'100, "1.2.3", "65a37da9c0ffee", "EPYC"};
  EXPECT_THAT(report(profile), HasSubstr("\n2026-11-29 10:45 UTC · commit 65a37da · Ridgeline 1.2.3 · EPYC\n"));
}

TEST(TextReport, SaysWhatTwiceTheBatchGave) {
  Profile profile = testing::resnet_profile();
  profile.skipped.clear();
  profile.capacity_bytes = 0;
  const analysis::TimeSample* now = analysis::sample_of(profile, profile.batch_size);
  ASSERT_NE(now, nullptr);
  analysis::Check check;
  const double ms = 1.6 * now->ms.value;
  check.time = {2 * profile.batch_size, {ms, 0.99 * ms, 1.01 * ms}, 6};
  check.peak_bytes = 3ULL << 30U;
  check.tried = true;
  profile.checks = {check};
  EXPECT_THAT(report(profile), HasSubstr("8 gave 1.25× the throughput"));
  EXPECT_THAT(report(profile), HasSubstr("took 3.00 GiB"));
}

TEST(TextReport, SaysHowTheTimeWasTaken) {
  EXPECT_THAT(report(testing::resnet_profile()),
              HasSubstr("21 iterations in 21 rounds, in turns with other batches; two halves of a measurement differ"));
}

TEST(TextReport, WeightsThroughputByLengths) {
  Profile profile = testing::resnet_profile();
  EXPECT_THAT(report(profile), Not(HasSubstr("  lengths")));
  profile.length = protocol::BatchLength{profile.iteration.ms.value / 2, "tokens"};
  EXPECT_THAT(report(profile), ContainsRegex("lengths +500 tokens/s; the batch has [0-9.]+ tokens"));
}

TEST(TextReport, SaysWhatTheProcessUsedOfTheProcessors) {
  Profile profile = testing::resnet_profile();
  EXPECT_THAT(report(profile), Not(HasSubstr("of the processors")));
  profile.environment.processor_share = 0.97;
  EXPECT_THAT(report(profile, 140), HasSubstr("the process used 97"));
}

TEST(TextReport, SaysWhichWiderLayersArePredictedToPay) {
  Profile profile = testing::resnet_profile();
  profile.work.emplace().paddings.push_back({{testing::kModel, 38}, {"up"}, 1003, 1008, 10, 1, 0.5, 2});
  EXPECT_THAT(report(profile), HasSubstr("  padding"));
  EXPECT_EQ(
      padding_text(profile.work->paddings[0]),
      "out_features of up is 1003, which leaves the last vector of 8 38 % full: the products with this width take "
      "10.0 ms of the step. With 1008 they are predicted to take 0.90× (0.80–0.95); `ridgeline what-if ENTRY --try "
      "--change set:up:out_features=1008` tries it.");
  EXPECT_EQ(padding_text({{}, {"a", "b", "c"}, 63, 64, 10, 2, 1, 3}),
            "out_features of a and 2 more is 63, which leaves the last vector of 8 88 % full: the products with this "
            "width take 10.0 ms of the step. With 64 they are predicted to take 0.80× (0.70–0.90); `ridgeline what-if "
            "ENTRY --try --change set:a:out_features=64 --change set:"
            "b:out_features=64 …` "
            "tries it.");
}

TEST(TextReport, SaysWhatTilesOfAProductLeaveUnused) {
  const auto product = [](int rows, int columns) {
    return analysis::OperationCost{
        fmt::format(R"(["aten::mm.default",["t:float32:{0},512:512,1:cuda","t:float32:512,{1}:{1},1:cuda"],{{}}])",
                    rows, columns),
        {}};
  };
  const analysis::WorkDevice gpu{"V100-PCIE", false, 80};
  EXPECT_EQ(tile_text(product(1024, 1024), gpu),
            "By the white-box model, tiles of 64 × 64 suit the costliest product best: 100 % of what they compute is "
            "used, and in the last of 7 waves 40 % of the multiprocessors work.");
  EXPECT_EQ(tile_text(product(128 * 8, 128 * 80), gpu), "");  // eight whole waves
  EXPECT_EQ(tile_text(product(1024, 1024), {"V100-PCIE", true, 80}), "");
  EXPECT_EQ(tile_text({R"(["aten::relu.default",["t:float32:8:1:cuda"],{}])", {}}, gpu), "");
}

TEST(TextReport, SaysWhichProgramsOfYourOwnAreFaster) {
  Profile profile = testing::resnet_profile();
  EXPECT_THAT(report(profile), Not(HasSubstr("program of your own")));
  profile.work.emplace().own_programs.push_back({{testing::kModel, 38}, "matmul 512 1003 768", 10, 3, 0.7, 0.6, 0.8});
  EXPECT_THAT(report(profile), HasSubstr("  kernel"));
  EXPECT_EQ(
      own_program_text(profile.work->own_programs[0], 100),
      "A program of your own for matmul 512 1003 768 takes 0.70× (0.60–0.80) of torch's time, measured alone on "
      "this processor. The operation takes 10.0 ms of the step, of which it is predicted to save 3.00 ms (3.0 % of "
      "the step); `ridgeline kernel --of PROFILE --emit-folder FOLDER` writes it.");
  EXPECT_EQ(own_program_of_line(profile, {testing::kModel, 38}), &profile.work->own_programs[0]);
  EXPECT_EQ(own_program_of_line(profile, {testing::kModel, 39}), nullptr);
}

TEST(TextReport, ShowsALineWithoutItsSource) {
  Profile profile = testing::resnet_profile();
  EXPECT_THAT(text_report(profile, {}, nullptr), HasSubstr("resnet.py:42"));
  EXPECT_THAT(text_report(profile, {}, [](const auto&) { return std::nullopt; }), HasSubstr("resnet.py:42"));
}

}  // namespace
}  // namespace ridgeline::report
