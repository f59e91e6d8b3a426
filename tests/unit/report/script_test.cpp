// A script that ran as it is, in the text report and in JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/prediction/answers.h"
#include "report/json.h"
#include "report/read_report.h"
#include "report/script_text.h"
#include "report/wording.h"
#include "sample_profile.h"

namespace ridgeline::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// On one line, with plain spaces.
std::string text_of(const analysis::Script& script) {
  Page page(100'000, false);
  for (const Item& note : script_notes(script, 100, true)) {
    page.prose(note.word, note.value, kBeside);
  }
  std::string text = page.take();
  for (std::size_t at = 0; (at = text.find("\u00A0")) != std::string::npos;) {
    text.replace(at, 2, " ");
  }
  return text;
}

analysis::Script starved() {
  analysis::Script script;
  script.step.optimizers = {1, 1, 2};
  script.between = {{"evaluation", 2, 340}, {"checkpoint", 1, 12}};
  script.loading = analysis::DataLoading{2, 1, 12, 0.34, 24, 0.98, 3, 40, 10};
  return script;
}

TEST(ScriptText, SaysWhereAStepEnds) {
  using enum protocol::StepEnd;
  const auto text = [](analysis::StepRule step) { return text_of({std::move(step), {}, {}}); };
  EXPECT_THAT(text({kOptimizer, false, {1}, {}}), HasSubstr("ends with the step of the optimizer"));
  EXPECT_THAT(text({kOptimizer, false, {1, 1, 2}, {}}), HasSubstr("3 steps of 2 optimizers in turn: 1, 1, 2"));
  EXPECT_THAT(text({kOptimizer, true, {}, {}}), HasSubstr("each step of an optimizer, as requested"));
  EXPECT_THAT(text({kBackward, false, {1}, {}}), HasSubstr("the backward pass, in which the optimizers step"));
  EXPECT_THAT(text({kWeightUpdate, false, {}, {}}), HasSubstr("the script has updated its weights itself"));
  EXPECT_THAT(text({kDataLoader, true, {}, {}}), HasSubstr("before the next batch is fetched, as requested"));
  EXPECT_THAT(text({kLine, true, {}, {"train.py", 12}}), HasSubstr("before train.py:12 runs, as requested"));
}

/// Batches of 8 and 24, rollouts, and a step that was left out.
analysis::Script varied() {
  analysis::Script script;
  script.samples = analysis::StepSamples{40, 16, 8, 24, ""};
  script.whole = analysis::WholeTime{32, 100, 5120, true, {{"other work", 2, 60}}};
  script.left_out = {{"evaluation", 1, 12, 512}};
  script.largest = analysis::LargestStep{9, 2048, 24, ""};
  return script;
}

TEST(ScriptText, SaysWhatDiffersFromStepToStep) {
  EXPECT_THAT(
      text_of(varied()),
      AllOf(HasSubstr("16.0 in a step on average, from 8 to 24, over 40 steps"),
            HasSubstr("5120 samples/s over 100 ms of 32 steps, with what lies between them: steps 40 %, other "
                      "work 60 % (2 times)"),
            HasSubstr("1 step (evaluation), 12.0 ms, at most 512 B of memory"),
            HasSubstr("at most 2.00 KiB in 9 steps that were watched beside the recorded ones: in one before the "
                      "recording, with 24 samples")));
  analysis::Script script = varied();
  script.whole->is_whole = false;
  script.largest->bytes = 104;
  EXPECT_THAT(text_of(script), AllOf(HasSubstr("seen too seldom"), Not(HasSubstr("at most 104 B"))));
}

TEST(ScriptText, AnUncertainBatchSizeIsMarked) {
  analysis::Profile profile = testing::resnet_profile();
  const std::string known = throughput_text(profile);
  profile.script = varied();
  EXPECT_THAT(batch_text(profile), HasSubstr(" (8 to 24)"));
  profile.script->samples = analysis::StepSamples{40, 16, 16, 16, "it is a guess"};
  EXPECT_EQ(throughput_text(profile), "≈\u00A0" + known);
  EXPECT_THAT(batch_text(profile), HasSubstr("≈"));
  EXPECT_THAT(text_of(*profile.script), HasSubstr("uncertain: it is a guess; --batch-size says how many"));
}

TEST(ScriptText, SaysWhatLiesBetweenSteps) {
  EXPECT_THAT(text_of(starved()),
              HasSubstr("evaluation 2 times, 340 ms; checkpoint 1 time, 12.0 ms; no part of the step"));
}

TEST(ScriptText, SaysWhatStarvesAStep) {
  EXPECT_THAT(
      text_of(starved()),
      AllOf(HasSubstr("waiting for it takes 34 % of the steps' time, 12.0 ms a step on average"),
            HasSubstr("2 workers load a batch in 24.0 ms each and are busy for 98 % of the time"),
            HasSubstr("3 workers would keep up with the step"),
            HasSubstr("in the first pass over the data a batch took 40.0 ms, later 10.0 ms: something is cached")));
  analysis::Script script = starved();
  script.loading->workers_needed.reset();
  script.loading->workers_busy = 0.4;
  script.loading->later_passes_batch_ms = 39;
  EXPECT_THAT(text_of(script), AllOf(HasSubstr("the steps wait for more than the workers"), Not(HasSubstr("keep up")),
                                     Not(HasSubstr("cached"))));
  script.loading = analysis::DataLoading{0, 1, 12, 0.34, 12, {}, {}, {}, {}};
  EXPECT_THAT(text_of(script), HasSubstr("the training process loads the batches itself, each in 12.0 ms"));
  script.loading = analysis::DataLoading{1, 1, 12, 0.34, {}, {}, {}, {}, {}};
  EXPECT_THAT(text_of(script), HasSubstr("1 worker loads the batches"));
}

analysis::Communication of_rank(std::optional<double> waiting_ms) {
  return {1, 8, 12.2, 8.97, waiting_ms, 0.662, {{{"train.py", 21}, 6.62, waiting_ms, 0.2}, {{}, 2.35, {}, 0.462}}};
}

TEST(ScriptText, SaysWhatARankWaitsFor) {
  analysis::Script script;
  script.communication = of_rank(6.53);
  EXPECT_THAT(text_of(script),
              HasSubstr("a recorded step of rank 1 takes 12.2 ms and waits for communication for 8.97 ms, 6.53 ms of "
                        "that for other ranks; 662 µs are hidden; most of the waiting, 6.62 ms, is at train.py:21"));
  script.communication = of_rank({});
  EXPECT_THAT(text_of(script), Not(HasSubstr("other ranks"))) << "it is not known";
}

TEST(ScriptJson, IsReadAsItWasWritten) {
  analysis::Profile profile = testing::resnet_profile();
  profile.script = starved();
  profile.script->communication = of_rank(6.53);
  profile.script->step.line = {"train.py", 12};
  const auto read = read_report(json_report(profile, analysis::outlook_of(profile)));
  ASSERT_TRUE(read.has_value()) << read.error().message();
  ASSERT_TRUE(read->script.has_value() && read->script->loading.has_value());
  EXPECT_EQ(read->script->step.optimizers, (std::vector<int>{1, 1, 2}));
  EXPECT_EQ(read->script->step.line, (analysis::Location{"train.py", 12}));
  EXPECT_EQ(read->script->between.at(1).name, "checkpoint");
  EXPECT_EQ(read->script->loading->workers_needed, 3);
  EXPECT_EQ(read->script->communication->lines.size(), 2U);
  EXPECT_EQ(read->script->communication->lines[0].waiting_ms, 6.53);
  EXPECT_FALSE(read->script->communication->lines[1].waiting_ms.has_value());
  EXPECT_EQ(text_of(*read->script), text_of(*profile.script));
  profile.script = varied();
  const auto other = read_report(json_report(profile, analysis::outlook_of(profile)));
  ASSERT_TRUE(other.has_value()) << other.error().message();
  EXPECT_EQ(text_of(*other->script), text_of(varied()));
}

}  // namespace
}  // namespace ridgeline::report
