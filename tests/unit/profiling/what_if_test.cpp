#include "profiling/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::profiling {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
