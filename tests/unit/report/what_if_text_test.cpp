#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>

#include "report/rendered_what_if.h"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What is said of the losses of a trial.
std::string losses(std::optional<double> drift, std::optional<double> seed_drift = std::nullopt) {
  analysis::ChangeAnswer row;
  row.tried.emplace();
  row.tried->loss_drift = drift;
  row.tried->seed_drift = seed_drift;
  return loss_text(row);
}

TEST(LossText, BlamesAChangeOnlyForMoreThanAnotherSeedMakes) {
  EXPECT_EQ(losses(0, 0), "losses are equal");
  EXPECT_EQ(losses(0.004, 0), "losses differ by up to 0.4 %");
  EXPECT_EQ(losses(0.004), "losses differ by up to 0.4 %");
  EXPECT_EQ(losses(0.15, 0.2), "losses differ about as much as with another random seed (20 %)");
  EXPECT_EQ(losses(0.25, 0.2), "losses differ about as much as with another random seed (20 %)");
  EXPECT_EQ(losses(0.5, 0.2), "losses differ by up to 50 %, and by 20 % with another random seed");
  EXPECT_EQ(losses(std::numeric_limits<double>::infinity(), 0.2), "the loss is not a number any more");
  EXPECT_EQ(losses(std::nullopt, 0.2), "losses could not be compared");
}

analysis::ChangeAnswer predicted(const analysis::SpeedUp& speed_up) {
  analysis::ChangeAnswer row{.change = {"channels-last"}, .title = "", .takes = "", .reason = "", .can_be_tried = true};
  row.predicted = analysis::PredictedChange{.speed_up = speed_up, .peak_bytes = {}};
  return row;
}

TEST(PredictedText, NamesAGainOrALossOnlyWhereTheSignIsCertain) {
  EXPECT_EQ(predicted_text(predicted({1.2, 1.1, 1.3})), "1.20× faster (1.10–1.30)");
  EXPECT_EQ(predicted_text(predicted({0.8, 0.7, 0.99})), "0.80× as fast (0.70–0.99)");
  EXPECT_EQ(predicted_text(predicted({1.2, 0.9, 1.5})), "unclear: try it (0.90–1.50)");
  EXPECT_EQ(predicted_text(predicted({0.99, 0.9, 1.006})), "no change (0.90–1.01)") << "nothing to gain";
  EXPECT_EQ(predicted_text(predicted({1, 0.998, 1.004})), "no change (1.00–1.00)");
  EXPECT_EQ(predicted_text(predicted({1.03, 0.998, 1.06})), "1.03× faster (1.00–1.06)") << "within rounding";
  analysis::ChangeAnswer by_rule = predicted({1.2, 0.9, 1.5});
  by_rule.can_be_tried = false;
  EXPECT_EQ(predicted_text(by_rule), "unclear (0.90–1.50)");
}

TEST(WhatIfText, ListsApartWhatBringsNothing) {
  analysis::WhatIf answer;
  answer.peak_bytes = 100 << 20U;
  answer.changes = {predicted({1.3, 1.2, 1.4}), predicted({1.01, 0.87, 1.17}), predicted({0.8, 0.7, 0.9})};
  answer.changes[1].change = {"foreach-optimizer"};
  answer.changes[2].change = {"checkpoint"};
  answer.changes[2].predicted->peak_bytes = 50 << 20U;  // what it is for
  const std::string text = text_what_if(answer);
  EXPECT_THAT(text, HasSubstr("foreach-optimizer brings no gain: 1.01× (0.87–1.17) predicted\n"));
  EXPECT_THAT(text, Not(HasSubstr("checkpoint brings no gain")));
  EXPECT_THAT(html_what_if(answer), HasSubstr("<h2>No gain</h2>"));
  EXPECT_THAT(json_what_if(answer), HasSubstr("\"bringsNothing\": true"));
}

TEST(WhatIfText, SaysWhyAnIntervalIsWide) {
  analysis::WhatIf answer;
  answer.peak_bytes = 1;
  answer.changes = {predicted({1.6, 1.2, 2.5}), predicted({1.6, 1.2, 2.3})};
  for (analysis::ChangeAnswer& row : answer.changes) {
    row.predicted->largest_error = "no step takes the same time twice";
  }
  EXPECT_EQ(certainty_text(answer, answer.changes[0]), "wide, since no step takes the same time twice: try it");
  EXPECT_EQ(certainty_text(answer, answer.changes[1]), "");
  answer.changes[0].predicted->measured_share = 0.8;
  answer.changes[0].can_be_tried = false;
  EXPECT_EQ(certainty_text(answer, answer.changes[0]),
            "20 % of the changed time is of operations that could not be timed alone; wide, since no step takes the "
            "same time twice");
  EXPECT_THAT(json_what_if(answer), HasSubstr("\"wideBecause\": \"no step takes the same time twice\""));
  EXPECT_THAT(json_what_if(answer), HasSubstr("\"wideBecause\": \"\""));
}

TEST(TriedText, SaysWhereThereIsNoClearChange) {
  analysis::ChangeAnswer row;
  EXPECT_EQ(tried_text(row), "");
  row.tried.emplace().speed_up = {1.02, 0.97, 1.05};
  EXPECT_EQ(tried_text(row), "no clear change (0.97–1.05)");
  row.tried->speed_up = {1.5, 1.4, 1.6};
  EXPECT_EQ(tried_text(row), "1.50× faster (1.40–1.60)");
}

TEST(WhatIfText, OffersToTryWhatIsUnclearAndListsWhatIsNotPredicted) {
  analysis::WhatIf answer;
  answer.entry_path = "/entry.py";
  answer.step_ms = 5;
  answer.operations = 9;
  answer.changes = {predicted({1.2, 0.9, 1.5}), predicted({1.3, 1.2, 1.4})};
  answer.changes[1].change = {"fused-optimizer"};
  analysis::ChangeAnswer compile{.change = {"compile"}, .title = "", .takes = "", .reason = "", .can_be_tried = true};
  compile.not_predicted = "what it does is not known before it runs";
  answer.changes.push_back(compile);
  answer.try_seconds = 11.2;
  const std::string text = text_what_if(answer);
  EXPECT_THAT(text, HasSubstr(" unclear: try it        –\n      predicted 0.90–1.50"));
  EXPECT_THAT(text, HasSubstr("1.30× (1.20–1.40)"));
  EXPECT_THAT(text, Not(HasSubstr("1.20×  ")));
  EXPECT_THAT(text, HasSubstr("compile is not predicted: what it does is not known before it runs"));
  const std::size_t offer = text.find("To be certain, try them: about 12.0 s, and the time that torch.compile takes");
  EXPECT_LT(offer, text.find("CHANGE")) << text;
  answer.try_seconds = 90;
  EXPECT_GT(text_what_if(answer).find("To be certain"), text_what_if(answer).find("CHANGE"));
  answer.from_trace = true;
  answer.try_seconds.reset();
  EXPECT_EQ(text_what_if(answer).find("To be certain"), std::string::npos);
  EXPECT_THAT(html_what_if(answer), HasSubstr("aria-label=\"predicted unclear: try it (0.90–1.50)\""));
  EXPECT_THAT(json_what_if(answer), HasSubstr("\"verdict\": \"unclear\""));
}

}  // namespace
}  // namespace ridgeline::report
