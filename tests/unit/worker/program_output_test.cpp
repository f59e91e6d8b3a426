#include "worker/program_output.h"

#include <gtest/gtest.h>

#include "tests/unit/worker/places.h"

namespace ridgeline::worker {
namespace {

using std::chrono::milliseconds;
using testing::TemporaryFolder;

std::optional<std::string> first_line_of_script(const std::string& script, milliseconds limit = testing::kPatience) {
  const TemporaryFolder folder;
  return first_line_of({folder.program("program", "#!/bin/sh\n" + script).string(), "--version"}, limit);
}

TEST(FirstLineOf, IsTheFirstLine) {
  EXPECT_EQ(first_line_of_script("echo \"$1 1.2\"; echo more; echo errors >&2"), "--version 1.2");
  EXPECT_EQ(first_line_of_script("exit 0"), "");
}

TEST(FirstLineOf, IsNothingWithoutSuccess) {
  EXPECT_EQ(first_line_of_script("echo 1.2; exit 3"), std::nullopt);
  EXPECT_EQ(first_line_of({"/no/such/program"}, testing::kPatience), std::nullopt);
}

TEST(FirstLineOf, EndsWhatHangs) {
  EXPECT_EQ(first_line_of_script("echo 1.2; sleep 1000", milliseconds(100)), std::nullopt);
}

TEST(FirstLineOf, IsNotHeldUpByWhatTheProgramLeavesBehind) {
  EXPECT_EQ(first_line_of_script("sleep 1000 & echo 1.2"), "1.2");
}

}  // namespace
}  // namespace ridgeline::worker
