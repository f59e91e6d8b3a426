#include "report/rendered_prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "analysis/prediction/answers.h"
#include "expected.h"
#include "report/units.h"
#include "sample_profile.h"
#include "tests/unit/analysis/fitted_predictor.h"

namespace ridgeline::report {
namespace {

using analysis::Quantity;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Origin kStored{true, 1'763'715'767, 720};

std::string text(const analysis::Profile& profile, Quantity quantity, double value, const Origin& origin = kStored) {
  const analysis::Answer answer = analysis::answer(analysis::fitted_predictor(profile), {quantity, value});
  return text_prediction(answer, profile, origin);
}

nlohmann::json json(const analysis::Profile& profile, Quantity quantity, double value) {
  const analysis::Answer answer = analysis::answer(analysis::fitted_predictor(profile), {quantity, value});
  return nlohmann::json::parse(json_prediction(answer, profile, kStored));
}

TEST(TextPrediction, IsAsExpected) {
  const analysis::Profile profile = testing::resnet_profile();
  testing::expect_file(
      "prediction.txt",
      text(profile, Quantity::kBatchSize, 4) + text(profile, Quantity::kThroughput, 5) +
          text(profile, Quantity::kThroughput, 50) + text(profile, Quantity::kMemory, 8.0 * (1ULL << 30U)) +
          text(profile, Quantity::kMemory, 1 << 20U) + text(testing::minimal_profile(), Quantity::kBatchSize, 64));
}

TEST(TextPrediction, SaysWhereItComesFrom) {
  const analysis::Profile profile = testing::resnet_profile();
  const auto said = [&](std::int64_t age) { return text(profile, Quantity::kBatchSize, 4, {true, 0, age}); };
  EXPECT_THAT(text(profile, Quantity::kBatchSize, 4, {false, 0, 0}), HasSubstr("profiled now"));
  EXPECT_THAT(said(0), HasSubstr("from the profile of 1 second ago"));
  EXPECT_THAT(said(59), HasSubstr("59 seconds ago"));
  EXPECT_THAT(said(60), HasSubstr("1 minute ago"));
  EXPECT_THAT(said(7199), HasSubstr("1 hour ago"));
  EXPECT_THAT(said(259'200), HasSubstr("3 days ago"));
}

TEST(TextPrediction, SaysThatAnIntervalIsUnknown) {
  analysis::Profile profile = testing::resnet_profile();
  profile.time_samples.resize(2);
  profile.memory_samples.resize(2);
  EXPECT_THAT(text(profile, Quantity::kBatchSize, 5), HasSubstr("unknown"));
}

TEST(TextPrediction, SaysThatMoreThanWasRunIsABound) {
  const analysis::Profile profile = testing::resnet_profile();
  const std::string far = text(profile, Quantity::kMemory, 8.0 * (1ULL << 30U));
  EXPECT_THAT(far, HasSubstr("is the largest that is predicted to need at most 8.00 GiB: a bound, not checked"));
  const auto found = json(profile, Quantity::kMemory, 8.0 * (1ULL << 30U));
  EXPECT_GT(found["answer"]["batchSize"], found["limits"]["memoryCheckedUpTo"]);
}

/// Far beyond the samples the time may be anything, and with it the throughput.
TEST(TextPrediction, StatesNoIntervalThatSaysNothing) {
  analysis::Answer answer;
  answer.question = {Quantity::kMemory, 1e9};
  answer.batch.emplace().batch_size = 1'296'842;
  answer.batch->ms = analysis::Estimate{10, analysis::Interval{0, std::nullopt}};
  answer.batch->samples_per_second = analysis::Estimate{1e8, analysis::Interval{0, std::nullopt}};
  const std::string shown = text_prediction(answer, testing::resnet_profile(), kStored);
  EXPECT_THAT(shown, Not(HasSubstr("or more")));
  EXPECT_THAT(shown, HasSubstr("unknown"));
}

TEST(TextPrediction, NamesWhatRanOutOfMemory) {
  EXPECT_THAT(text(testing::resnet_profile(), Quantity::kBatchSize, 512), HasSubstr("batch 512, in the profile: "));
  EXPECT_THAT(text(testing::resnet_profile(), Quantity::kBatchSize, 63), Not(HasSubstr("in the profile: ")));
}

/// The value behind a bound is an extrapolation, so its share of the maximum would contradict the bound beside it.
TEST(TextPrediction, ABoundHasNoShareOfTheMaximum) {
  const analysis::Profile profile = testing::resnet_profile();
  analysis::Answer answer = analysis::answer(analysis::fitted_predictor(profile), {Quantity::kBatchSize, 7});
  EXPECT_THAT(text_prediction(answer, profile, kStored), HasSubstr("of the maximum"));
  answer.batch->samples_per_second = {5.1, analysis::Interval{0, 55.5}, analysis::Certainty::kAtMost};
  EXPECT_THAT(text_prediction(answer, profile, kStored), HasSubstr("≤\u00A055.5 samples/s"));
  EXPECT_THAT(text_prediction(answer, profile, kStored), Not(HasSubstr("of the maximum")));
}

TEST(TextPrediction, StatesWhatWasMeasured) {
  analysis::Profile profile = testing::resnet_profile();
  const analysis::BatchPrediction model = analysis::predict_batch(analysis::fitted_predictor(profile), 7);
  EXPECT_THAT(text(profile, Quantity::kBatchSize, 7), HasSubstr("≈"));
  analysis::Check check;
  const double ms = 1.02 * model.ms->value;
  check.time = {7, {ms, 0.99 * ms, 1.01 * ms}, 6};
  check.peak_bytes = 5'000'000'000;
  check.tried = true;
  profile.checks = {check};
  const std::string said = text(profile, Quantity::kBatchSize, 7);
  const auto maximum = analysis::greatest_throughput(analysis::fitted_predictor(profile));
  EXPECT_THAT(said, HasSubstr(" " + figure(7000 / ms) + " samples/s"));
  EXPECT_THAT(said, HasSubstr(share(7000 / ms / *maximum) + " of the maximum"));
  EXPECT_THAT(said, HasSubstr(bytes(5e9)));
  EXPECT_THAT(said, HasSubstr("this batch size was tried after the profile"));
  EXPECT_THAT(said, Not(HasSubstr("≈")));
}

TEST(TextPrediction, KeepsToThePage) {
  analysis::Profile profile = testing::resnet_profile();
  profile.entry_path = "/" + std::string(300, 'x') + "/entry.py";
  profile.environment.torch = "2.13.0\x1b[31m" + std::string(100, 'y');
  std::istringstream lines(text(profile, Quantity::kMemory, 1e18) + text(profile, Quantity::kThroughput, 1e9));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(columns(line), 100) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
  }
}

TEST(JsonPrediction, IsWhatTheSchemaTestReads) {
  const analysis::Profile profile = testing::resnet_profile();
  const analysis::Predictor predictor = analysis::fitted_predictor(profile);
  const auto written = [&](Quantity quantity, double value) {
    return json_prediction(analysis::answer(predictor, {quantity, value}), profile, kStored);
  };
  testing::expect_file("prediction.json", written(Quantity::kBatchSize, 4));
  testing::expect_file("prediction-none.json", written(Quantity::kMemory, 1 << 20U));
}

TEST(JsonPrediction, WritesNullForWhatIsUnknown) {
  const nlohmann::json report = json(testing::minimal_profile(), Quantity::kBatchSize, 64);
  EXPECT_TRUE(report["answer"].is_null());
  EXPECT_EQ(report["obstacle"], "tooFewSizes");
  EXPECT_TRUE(report["profile"]["id"].is_null());
  EXPECT_TRUE(report["limits"]["maxSamplesPerSecond"].is_null());
  const nlohmann::json there = json(testing::minimal_profile(), Quantity::kBatchSize, 32);
  EXPECT_TRUE(there["answer"]["timeMs"].is_null());
  EXPECT_EQ(there["answer"]["measured"]["peakBytes"], 5000);
}

TEST(PredictionText, SaysWhereActivationsTakeAsMuchAsWeights) {
  analysis::Answer balance;
  EXPECT_EQ(balance_text(balance), "");
  balance.obstacle = analysis::Obstacle::kNoBalance;
  EXPECT_EQ(balance_text(balance), "at no batch size do activations take as much memory as weights");
  balance.batch.emplace().batch_size = 34;
  EXPECT_EQ(balance_text(balance), "activations take as much memory as weights from batch size 34 on");
  balance.batch->batch_size = 1;
  EXPECT_THAT(balance_text(balance), HasSubstr("at batch size 1 already"));
}

TEST(PredictionText, SaysWhatFitsWhereTheLargestThatDoesIsUnknown) {
  analysis::Answer answer;
  answer.batch.emplace().batch_size = 64;
  EXPECT_EQ(largest_unknown_text(answer), "");
  answer.memory_checked_up_to = 64;
  EXPECT_EQ(largest_unknown_text(answer), "");
  answer.memory_checked_up_to = 16;
  EXPECT_EQ(largest_unknown_text(answer), "a prediction, not checked beyond a batch of 16");
  answer.obstacle = analysis::Obstacle::kTooFar;
  EXPECT_EQ(largest_unknown_text(answer),
            "64 fits by prediction, not checked beyond a batch of 16; larger ones are too far from what was measured.");
  answer.memory_checked_up_to.reset();
  EXPECT_EQ(largest_unknown_text(answer), "64 fits; larger ones are too far from what was measured.");
  answer.obstacle = analysis::Obstacle::kMemoryUnknown;
  EXPECT_EQ(largest_unknown_text(answer), "64 fits; of larger ones the memory is unknown.");
  answer.obstacle = analysis::Obstacle::kRanOut;
  answer.failed = {{96, protocol::FailureKind::kOutOfMemory, ""}};
  EXPECT_EQ(largest_unknown_text(answer), "64 fits; 96 ran out of memory.");
  answer.obstacle = analysis::Obstacle::kMemoryUnknown;
  answer.batch.reset();
  EXPECT_EQ(largest_unknown_text(answer), "The largest batch size that fits is unknown.");
  answer.obstacle = analysis::Obstacle::kTooLittleMemory;
  EXPECT_EQ(largest_unknown_text(answer), "No batch size is known to fit.");
}

}  // namespace
}  // namespace ridgeline::report
