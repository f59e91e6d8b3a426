// What is kept of programs that were timed.
#include "app/profiling/kept_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/temporary_folder.h"

namespace ridgeline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

KeptProgram program(const std::string& key, double ratio, int threads = 2) {
  return {threads, "2.13.0", {key, "matmul 1 2 3", ratio, ratio - 0.1, ratio + 0.1, 1e6}};
}

TEST(KeptPrograms, AreReadAsTheyWereWritten) {
  const std::vector<KeptProgram> programs = {program("a \"key\"", 0.5), program("b", 1.5)};
  const auto read = parse_kept_programs(kept_programs_json(programs));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, programs);
}

TEST(KeptPrograms, WhatIsNoneIsRefused) {
  for (const char* text :
       {"", "{", "[1]", R"([{"threads":1}])",
        R"([{"threads":1,"torch":"2","key":"k","operation":"m","ratio":2,"low":1,"high":1.5,"libraryNs":1}])",
        R"([{"threads":1,"torch":"2","key":"k","operation":"m","ratio":-1,"low":-2,"high":1,"libraryNs":1}])"}) {
    EXPECT_FALSE(parse_kept_programs(text)) << text;
  }
}

TEST(KeptPrograms, NewerOnesReplaceThoseOfTheSameConditions) {
  EXPECT_THAT(with_programs({program("a", 0.5)}, std::vector{program("a", 0.9), program("a", 0.8, 1), program("b", 1)}),
              ElementsAre(program("a", 0.5), program("a", 0.8, 1), program("b", 1)));
  EXPECT_EQ(with_programs(std::vector(kMaxKeptPrograms, program("a", 1)), std::vector{program("b", 1)}).size(),
            kMaxKeptPrograms);
}

TEST(KeptPrograms, ThoseOfOtherThreadsAndVersionsAreAnothers) {
  const std::vector<KeptProgram> programs = {program("a", 0.5), program("b", 0.6, 1)};
  EXPECT_THAT(timed_like(programs, 2, "2.13.0"), ElementsAre(programs[0].timed));
  EXPECT_THAT(timed_like(programs, 2, "2.12.0"), IsEmpty());
}

TEST(KeptPrograms, AreKeptForThisProcessor) {
  const testing::TemporaryFolder folder;
  const auto none = kept_programs(folder.path());
  ASSERT_TRUE(none);
  EXPECT_THAT(*none, IsEmpty());
  ASSERT_TRUE(keep_programs(folder.path(), {program("a", 0.5)}));
  ASSERT_TRUE(keep_programs(folder.path(), {program("b", 0.7)}));
  const auto both = kept_programs(folder.path());
  ASSERT_TRUE(both);
  EXPECT_THAT(*both, ElementsAre(program("b", 0.7), program("a", 0.5)));
}

}  // namespace
}  // namespace ridgeline::app
