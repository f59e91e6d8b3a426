#include "report/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analysis/prediction/answers.h"
#include "expected.h"
#include "report/labels.h"
#include "sample_profile.h"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const analysis::Node& child(const analysis::Node& node, const std::string& name) {
  for (const analysis::Node& one : node.children) {
    if (one.name == name) {
      return one;
    }
  }
  throw std::runtime_error("no " + name);
}

TEST(CodeSpan, ShowsExactlyTheText) {
  EXPECT_EQ(code_span("self.conv2").markup(), "`self.conv2`");
  EXPECT_EQ(code_span("a `b` c").markup(), "`` a `b` c ``");
  EXPECT_EQ(code_span("``").markup(), "``` `` ```");
  EXPECT_EQ(code_span("a|b").markup(), "`a\\|b`");
  EXPECT_EQ(code_span("<img onerror=x>").markup(), "`<img onerror=x>`");
  EXPECT_EQ(code_span("a\nb").markup(), "`a b`");
  EXPECT_EQ(code_span("").markup(), "`  `");
}

TEST(CodeSpan, IsBounded) { EXPECT_LT(code_span(std::string(10000, 'x'), 20).markup().size(), 30U); }

TEST(Markdown, IsAsExpected) {
  const analysis::Profile profile = testing::resnet_profile();
  const analysis::LineCost& line = profile.lines.front();
  Cost cost;
  cost.title = "self.conv2";
  cost.calls = 16;
  cost.self_ms = line.self_ms;
  cost.total_ms = line.total_ms;
  cost.self_by_phase = line.self_by_phase;
  cost.weights_bytes = line.weights_bytes;
  cost.activations_bytes = line.activations_bytes;
  cost.peak_bytes = line.peak_bytes;
  const analysis::Node& model = profile.breakdown.children.front();
  cost.parents = {&model};
  cost.inside = {{&child(model, "conv1"), "file:///p/net.py#L7"}, {&child(model, "bn1")}};
  cost.below = {{"net.py:42", "file:///p/net.py#L42", "x = self.conv1(x | y)", 12.3}, {"a b.py:7", "no uri", "y", 1}};
  const analysis::Outlook outlook = analysis::outlook_of(profile);
  testing::expect_file("markdown.md", "# a line\n\n" + cost_markdown(profile, cost).markup() + "\n# a class\n\n" +
                                          module_markdown(profile, {&model}).markup() + "\n# a provider\n\n" +
                                          summary_markdown(profile, outlook).markup());
}

TEST(Markdown, HasNoPartForAnyBatchWhereTheTimeGrowsFasterThanTheBatch) {
  const analysis::Profile profile = testing::resnet_profile();
  Cost cost;
  cost.self_ms = 280;
  const auto text_of = [&](double intercept) {
    const std::vector<analysis::Piece> model = {{1, 71.2, intercept}};
    cost.model = &model;
    return cost_markdown(profile, cost).markup();
  };
  EXPECT_THAT(text_of(10), HasSubstr("71.2 ms for each further sample; 10.0 ms for any batch"));
  EXPECT_THAT(text_of(-1.01), HasSubstr("71.2 ms for each further sample\n"));
  EXPECT_THAT(text_of(-1.01), Not(HasSubstr("for any batch")));
}

TEST(Labels, AreShort) {
  const analysis::Profile profile = testing::resnet_profile();
  const analysis::LineCost& line = profile.lines.front();
  EXPECT_THAT(line_label(line, profile, LabelFormat::kTime), Not(HasSubstr("iB")));
  EXPECT_EQ(line_label(line, profile, LabelFormat::kTime), "30 % · 272 ms");
  EXPECT_THAT(line_label(line, profile, LabelFormat::kBoth), HasSubstr("30 % · 272 ms · "));
  analysis::LineCost scalar = line;
  scalar.peak_bytes = 4;
  EXPECT_EQ(line_label(scalar, profile, LabelFormat::kBoth), "30 % · 272 ms");
  EXPECT_THAT(throughput_label(profile), HasSubstr("% of the maximum"));
  EXPECT_THAT(memory_label(profile), HasSubstr(" of "));
}

/// A step of 100 ms: 40 forward, 50 backward, 10 of the optimizer.
TEST(Labels, ShowTheTotalOfALineThatLeadsToMuch) {
  analysis::Profile profile;
  profile.iteration.ms = {100, 99, 101};
  profile.iteration.iterations = 20;
  profile.iteration.by_phase = {40, 50, 0, 10, 0, 0};
  const auto label = [&](double self, const analysis::ByPhase& total) {
    analysis::LineCost line;
    line.self_ms = self;
    line.total_by_phase = total;
    for (const double ms : total) {
      line.total_ms += ms;
    }
    return line_label(line, profile, LabelFormat::kTime);
  };
  EXPECT_EQ(label(1.4, {39, 45, 0, 0, 0, 0}), "forward 39 % · backward 45 %");
  EXPECT_EQ(label(0.1, {0, 50, 0, 0, 0, 0}), "backward of all lines 50 %");
  EXPECT_EQ(label(1, {8, 0, 0, 0, 0, 0}), "total 8.0 % · 8.00 ms");
  EXPECT_EQ(label(5, {8, 0, 0, 0, 0, 0}), "5.0 % · 5.00 ms") << "not twice its own";
  EXPECT_EQ(label(1, {4, 0, 0, 0, 0, 0}), "1.0 % · 1.00 ms") << "less than 5 %";
  EXPECT_EQ(label(0, {40, 50, 0, 10, 0, 0}), "") << "main()";
  EXPECT_EQ(label(0, {40, 45, 0, 0, 0, 0}), "forward 40 % · backward 45 %");
}

/// A line of four blocks, and the blocks themselves.
TEST(Markdown, SpeaksOfEqualBlocksTogether) {
  analysis::Profile profile;
  profile.iteration.ms = {100, 99, 101};
  std::vector<analysis::Node> blocks(4);
  Cost cost;
  cost.self_ms = cost.total_ms = 12;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].name = std::to_string(i);
    blocks[i].type = "Block";
    blocks[i].ms = 6 - 0.1 * static_cast<double>(i);
    cost.parents.push_back(&blocks[i]);
  }
  EXPECT_THAT(cost_markdown(profile, cost).markup(), HasSubstr("51 % of 4 × `Block`"));
  cost.parents.resize(1);
  EXPECT_THAT(cost_markdown(profile, cost).markup(), Not(HasSubstr(" of `0 (Block)`"))) << "it runs elsewhere, too";
  cost.parents.clear();
  for (const analysis::Node& block : blocks) {
    cost.inside.push_back({&block, ""});
  }
  EXPECT_THAT(cost_markdown(profile, cost).markup(), HasSubstr("`4 × Block`, 5.85 ms each"));
}

TEST(Labels, ShowUncertainty) {
  analysis::Profile profile = testing::resnet_profile();
  const analysis::LineCost line = profile.lines.front();
  EXPECT_THAT(throughput_label(profile), Not(HasSubstr("≈")));
  EXPECT_THAT(line_explanation(line, profile), Not(HasSubstr("varies")));
  profile.iteration.ms.high = 1.2 * profile.iteration.ms.value;
  EXPECT_THAT(throughput_label(profile), HasSubstr("≈"));
  EXPECT_THAT(line_label(line, profile, LabelFormat::kTime), HasSubstr("≈"));
  EXPECT_THAT(line_explanation(line, profile), HasSubstr(": 30 % of the step. "));
  EXPECT_THAT(line_explanation(line, profile), HasSubstr("(95 % interval): it varies a lot"));
}

TEST(Labels, SayWhatChanged) {
  using analysis::Outcome;
  const auto time = [](Outcome outcome, std::optional<analysis::Bounds> bounds) {
    return analysis::TimeChange{100, 100, 0, bounds, outcome};
  };
  const analysis::TimeChange same = time(Outcome::kNoDifference, analysis::Bounds{-0.02, 0.02});
  const analysis::TimeChange undecided = time(Outcome::kUndecided, analysis::Bounds{-0.05, 0.15});
  const analysis::TimeChange other = time(Outcome::kDiffers, analysis::Bounds{-0.3, -0.2});
  const analysis::Profile before = testing::resnet_profile();
  analysis::Profile now = before;
  now.environment.others_used.reset();
  analysis::Profile idle = now;
  EXPECT_EQ(change_label(idle, now, same), "no change within the noise");
  EXPECT_EQ(change_label(idle, now, undecided), "no change within the noise");
  now.iteration.ms.value = 0.75 * before.iteration.ms.value;
  EXPECT_EQ(change_label(idle, now, other), "25 % faster (898 ms before)");
  EXPECT_EQ(change_label(idle, now, time(Outcome::kUndecided, std::nullopt)), "not compared: too little was measured");
  EXPECT_EQ(change_label(idle, now, time(Outcome::kUndecided, analysis::Bounds{-0.7, 1.2})),
            "not compared: the time varies too much");
  now.peak_bytes += before.peak_bytes;
  EXPECT_EQ(change_label(idle, now, same), "no change within the noise, 655 MiB more at the peak");
  now.environment.others_used = 1.5;
  EXPECT_EQ(change_label(idle, now, other), "not compared: the machine was busy");
  now.batch_size += 1;
  EXPECT_EQ(change_label(idle, now, other), "");
}

analysis::BatchPrediction batch(int size, double samples_per_second, double gib) {
  analysis::BatchPrediction prediction;
  prediction.batch_size = size;
  prediction.samples_per_second = analysis::Estimate{samples_per_second, {}};
  prediction.peak_bytes = analysis::Estimate{gib * (1ULL << 30U), {}};
  return prediction;
}

TEST(Labels, TellWhatABatchSizeBrings) {
  constexpr std::uint64_t kCapacity = std::uint64_t{16} << 30U;
  EXPECT_EQ(batch_size_title(batch(96, 131, 7.8), batch(16, 100, 2), kCapacity),
            "Set batch size to 96: ≈ 1.31× throughput, ≈ 7.80 of 16.0 GiB");
  analysis::BatchPrediction far = batch(96, 131, 7.8);
  far.extrapolated = true;
  EXPECT_THAT(batch_size_title(far, batch(16, 100, 2), kCapacity), HasSubstr("(extrapolated)"));
  far.samples_per_second.reset();
  far.peak_bytes.reset();
  EXPECT_EQ(batch_size_title(far, batch(16, 100, 2), kCapacity), "Set batch size to 96 (extrapolated)");
}

TEST(AdviceWords, HaveTheirFigures) {
  const analysis::Profile profile = testing::resnet_profile();
  analysis::Advice advice;
  advice.batch_size = 512;
  advice.better_batch_size = 216;
  advice.part = 54.1 * (1ULL << 30U);
  advice.whole = 23.4 * (1ULL << 30U);
  EXPECT_EQ(advice_text(advice, profile),
            "Batch 512 would need 54.1 GiB; this device has 23.4 GiB. The largest that fits is 216.");
  advice.padding.emplace();
  advice.graph_break = {{"net.py", 7}, "forward", "Unsupported Tensor.item() call", 1};
  advice.recompiled = {{"net.py", 1}, "forward", 2, 1.5, 30, {"size mismatch"}};
  for (std::size_t i = 0; i < analysis::kAdviceCount; ++i) {
    advice.kind = static_cast<analysis::AdviceKind>(i);
    const bool is_observation = advice.kind == analysis::AdviceKind::kLittleArithmetic;  // line_observations() has it
    EXPECT_EQ(advice_text(advice, profile).find('.') == std::string::npos, is_observation) << i;
  }
  advice.kind = analysis::AdviceKind::kGradientNeverUsed;
  advice.part = 4096;
  advice.parameter = "Net.head.bias";
  advice.parameters = 1;
  EXPECT_THAT(advice_text(advice, profile),
              HasSubstr("1 parameter made here gets a gradient in every iteration that nothing uses, 4.00 KiB in all: "
                        "Net.head.bias. Give it"));
}

}  // namespace
}  // namespace ridgeline::report
