// Where a run hung, from what Python's faulthandler wrote.
#include "worker/stack_dump.h"

#include <gtest/gtest.h>

namespace ridgeline::worker {
namespace {

constexpr const char* kDump =
    "Stack (most recent call first):\n"
    "  File \"/project/odd \", line 3 in/name.py\", line 12 in <lambda>\n"
    "  File \"/project/entry.py\", line 34 in iteration\n"
    "  File \"/cache/profiler/runner/ridgeline_runner/session.py\", line 7 in run\n"
    "  File \"<frozen importlib._bootstrap>\", line 241 in _call_with_frames_removed\n";

TEST(StackDump, IsTakenOutOfTheOutput) {
  std::string output = std::string("before\n") + kDump + "after\n";
  const auto frames = take_stack_dump(output);
  EXPECT_EQ(output, "before\nafter\n");
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].file, "/project/entry.py");
  EXPECT_EQ(frames[0].line, 34);
  EXPECT_EQ(frames[0].function, "iteration");
  EXPECT_EQ(frames[1].file, "/project/odd \", line 3 in/name.py");
  EXPECT_EQ(frames[1].line, 12);
}

TEST(StackDump, OnlyTheLastOneCounts) {
  std::string output = std::string(kDump) + "Stack (most recent call first):\n  File \"b.py\", line 1 in g\n";
  const auto frames = take_stack_dump(output);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].file, "b.py");
  EXPECT_EQ(output, kDump);
}

TEST(StackDump, OtherOutputStays) {
  for (const std::string text : {"", "hello\n", "  File \"a.py\", line 3 in f\n"}) {
    std::string output = text;
    EXPECT_TRUE(take_stack_dump(output).empty());
    EXPECT_EQ(output, text);
  }
}

TEST(StackDump, ForgedLinesAreNoFrames) {
  for (const char* line : {"  File \"a.py\", line 99999999999999999999 in f\n", "  File \"a.py\", line x in f\n",
                           "  File \", line 1 in f\n", "  File \"a.py\", line 3\n"}) {
    std::string output = std::string("Stack (most recent call first):\n") + line;
    EXPECT_TRUE(take_stack_dump(output).empty()) << line;
    EXPECT_EQ(output, line);
  }
}

}  // namespace
}  // namespace ridgeline::worker
