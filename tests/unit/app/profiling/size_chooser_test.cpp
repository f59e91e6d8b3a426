#include "app/profiling/size_chooser.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace ridgeline::app {
namespace {

worker::ChoiceAsked three_sizes() {
  worker::ChoiceAsked asked;
  asked.seconds_left = 8;
  asked.round_seconds = 0.03;
  asked.largest_affordable = 1 << 20;
  asked.first = {32, 64, 128};
  for (const int size : asked.first) {
    asked.samples.push_back({size, std::vector<double>(8, 1e5 * size)});
  }
  return asked;
}

TEST(SizeChooser, ChoosesTheEndsAndTheMiddleOfAGap) { EXPECT_EQ(chooser_of({}, {}).choose(three_sizes()).size(), 3U); }

TEST(SizeChooser, IsNotThereWhenTheSizesWereNamed) {
  PlannedRun plan;
  plan.spec.batch_sizes = {32, 64};
  EXPECT_FALSE(chooser_of(plan, {}).choose);
}

TEST(SizeChooser, DoesWithoutRecordingsThatAreDamaged) {
  worker::ChoiceAsked asked = three_sizes();
  for (const int size : asked.first) {
    asked.recorded.push_back({size, false, {}, {}, 1, std::make_shared<const std::string>("12345")});
  }
  EXPECT_EQ(chooser_of({}, {}).choose(asked).size(), 3U);
}

}  // namespace
}  // namespace ridgeline::app
