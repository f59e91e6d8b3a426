#include "profiling/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::profiling {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PeakAlone, NeedsTheMemoryOfAllThatCanBeRunAlone) {
  KnownTimes known;
  known["a"] = {.key = "a", .ns = 5, .low = 5, .high = 5, .samples = 1, .peak_bytes = 4096};
  known["sparse"] = {.key = "sparse", .reason = "a tensor that is sparse"};
  const auto peak = peak_alone(known);
  ASSERT_TRUE(peak);
  EXPECT_EQ(peak("a"), 4096U);
  EXPECT_EQ(peak("sparse"), std::nullopt);
  EXPECT_EQ(peak("another"), std::nullopt);
  known["late"] = {.key = "late", .reason = "there was no time left"};
  EXPECT_FALSE(peak_alone(known));
  known["late"] = {.key = "late", .ns = 5, .low = 5, .high = 5, .samples = 1};
  EXPECT_FALSE(peak_alone(known)) << "a table of others has times without memory";
}

TEST(AddTrials, SaysWhichChangeWasTimedInOneProcessAndWhy) {
  analysis::ChangeAnswer row;
  row.change = {"threads:1"};
  row.title = "1 thread";
  analysis::WhatIf answer;
  answer.changes = {row};
  protocol::Tried tried;
  tried.unchanged_ns = {2e6, 2e6};
  tried.changed_ns = {1e6, 1e6};
  tried.unchanged_batch_size = tried.changed_batch_size = 4;
  add_trials(answer, {row.change}, {tried});
  EXPECT_THAT(answer.warnings, IsEmpty());
  tried.together_because = "OSError: the port is in use";
  add_trials(answer, {row.change}, {tried});
  ASSERT_TRUE(answer.changes[0].tried.has_value());
  EXPECT_DOUBLE_EQ(answer.changes[0].tried->speed_up.value, 2);
  EXPECT_THAT(answer.warnings, ElementsAre(AllOf(HasSubstr("1 thread was tried in one process"),
                                                 HasSubstr("OSError: the port is in use"))));
}

}  // namespace
}  // namespace ridgeline::profiling
