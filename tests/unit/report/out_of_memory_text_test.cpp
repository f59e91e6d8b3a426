#include "report/out_of_memory_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ridgeline::report {
namespace {

using analysis::Category;
using ::testing::HasSubstr;
using ::testing::Not;

analysis::OutOfMemoryError error_of(Category category, std::uint64_t bytes) {
  analysis::OutOfMemoryError error;
  error.batch_size = 8;
  error.allocated_bytes = bytes + 10;
  error.by_category[static_cast<std::size_t>(category)] = bytes;
  error.by_category[static_cast<std::size_t>(Category::kTemporaries)] = 10;
  return error;
}

std::string text_of(const analysis::OutOfMemoryError& error) {
  std::string text;
  for (const Item& note : out_of_memory_notes(error)) {
    text += note.value + "\n";
  }
  return text;
}

TEST(OutOfMemoryText, SaysWhatHelpsByWhatMostOfTheMemoryIsFor) {
  EXPECT_THAT(text_of(error_of(Category::kActivations, 90)), HasSubstr("Most of it grows with the batch"));
  EXPECT_THAT(text_of(error_of(Category::kOptimizerState, 90)), HasSubstr("Most of it does not grow with the batch"));
  EXPECT_THAT(text_of(error_of(Category::kActivations, 5)), Not(HasSubstr("with the batch")));
}

TEST(OutOfMemoryText, SaysWhatIsPredictedToFitWhereThatIsKnown) {
  analysis::OutOfMemoryError error = error_of(Category::kActivations, 90);
  error.fitting_parts = 4;
  error.parts_bytes = 50;
  const std::string text = text_of(error);
  EXPECT_THAT(text, HasSubstr("Gradient accumulation over 4 parts of 2 is predicted to fit"));
  EXPECT_THAT(text, Not(HasSubstr("Most of it grows")));
  error.batch_size = 0;  // a script's that is not known
  error.fitting_parts = 0;
  EXPECT_THAT(text_of(error), HasSubstr("The step ran out of memory: no line of yours asked for more"));
}

TEST(OutOfMemoryText, OfALateErrorSaysThatItWasNotRecorded) {
  analysis::OutOfMemoryError error;
  error.batch_size = 8;
  error.location = {"train.py", 12};
  error.asked_bytes = 128U << 20U;
  error.predicted_bytes = 256.0 * (1 << 20);
  EXPECT_THAT(text_of(error), HasSubstr("after its step was recorded: train.py:12 asked for 128 MiB. What"));
  EXPECT_THAT(text_of(error), HasSubstr("the recorded step needs 256 MiB at its peak"));
  EXPECT_THAT(text_of(error), Not(HasSubstr("smaller batches")));
  error.allocated_bytes = 1U << 30U;
  EXPECT_THAT(text_of(error), HasSubstr("asked for 128 MiB when 1.00 GiB were allocated."));
}

}  // namespace
}  // namespace ridgeline::report
