#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/worker/places.h"
#include "worker/process.h"

namespace ridgeline::worker {
namespace {

class ReaperTest : public ::testing::Test {
 protected:
  pid_t start(const std::string& command) {
    const auto process = spawn({{"/bin/sh", "-c", command}, "", {}});
    EXPECT_TRUE(process.has_value()) << process.error().message();
    return process ? *process : 0;
  }
  /// Waits until they have ended, and does not reap them.
  bool wait_for_ends(std::initializer_list<pid_t> processes) {
    return testing::eventually([&] {
      return std::ranges::all_of(processes, [](pid_t process) { return testing::state_of(process).state == 'Z'; });
    });
  }

  boost::asio::io_context loop_;
  Reaper reaper_{loop_};
};

TEST_F(ReaperTest, TellsTheStatusOfEachChildOnce) {
  std::map<pid_t, std::vector<int>> ended;
  const pid_t good = start("exit 0");
  const pid_t bad = start("exit 3");
  const pid_t killed = start("kill -TERM $$");
  for (const pid_t process : {good, bad, killed}) {
    reaper_.watch(process, [&ended, process](int status) { ended[process].push_back(status); });
  }
  ASSERT_TRUE(testing::run_until(loop_, [&] { return ended.size() == 3; }));
  EXPECT_EQ(ended[good], std::vector<int>{0});
  ASSERT_EQ(ended[bad].size(), 1U);
  EXPECT_EQ(WEXITSTATUS(ended[bad][0]), 3);
  ASSERT_EQ(ended[killed].size(), 1U);
  EXPECT_EQ(WTERMSIG(ended[killed][0]), SIGTERM);
}

TEST_F(ReaperTest, SeesAChildThatEndedBeforeItWasWatched) {
  const pid_t process = start("exit 5");
  ASSERT_TRUE(wait_for_ends({process}));
  std::optional<int> status;
  reaper_.watch(process, [&](int ended) { status = ended; });
  EXPECT_FALSE(status.has_value()) << "the caller is not ready for its handler yet";
  ASSERT_TRUE(testing::run_until(loop_, [&] { return status.has_value(); }));
  EXPECT_EQ(WEXITSTATUS(*status), 5);
  EXPECT_EQ(testing::state_of(process).state, 'X') << "it was reaped";
}

TEST_F(ReaperTest, CallsOnlyTheLastHandler) {
  const pid_t process = start("exit 0");
  int first = 0;
  int second = 0;
  reaper_.watch(process, [&](int) { ++first; });
  reaper_.watch(process, [&](int) { ++second; });
  ASSERT_TRUE(testing::run_until(loop_, [&] { return second > 0; }));
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
}

/// A handler that gives up on others, as a failed build does, is heard even when they ended at the same moment.
TEST_F(ReaperTest, HandlerMayReplaceTheOneOfAChildThatHasEndedToo) {
  const pid_t first = start("exit 0");
  const pid_t second = start("exit 0");
  ASSERT_TRUE(wait_for_ends({first, second}));
  int told = 0;
  int replaced = 0;
  const auto give_up_on = [&](pid_t other) {
    return [&, other](int) {
      ++told;
      reaper_.watch(other, [&](int) { ++replaced; });
    };
  };
  reaper_.watch(first, give_up_on(second));
  reaper_.watch(second, give_up_on(first));
  ASSERT_TRUE(testing::run_until(loop_, [&] { return told + replaced >= 2; }));
  EXPECT_EQ(told, 1);
  EXPECT_EQ(replaced, 1);
}

TEST_F(ReaperTest, LetsTheLoopEndOnceItIsClosed) {
  reaper_.close();
  loop_.run();
  EXPECT_TRUE(loop_.stopped());
}

TEST_F(ReaperTest, LeavesOtherChildrenToTheirOwners) {
  const pid_t ours = start("exit 0");
  const pid_t theirs = start("exit 9");
  ASSERT_TRUE(wait_for_ends({ours, theirs}));
  bool ended = false;
  reaper_.watch(ours, [&](int) { ended = true; });
  ASSERT_TRUE(testing::run_until(loop_, [&] { return ended; }));
  int status = 0;
  EXPECT_EQ(::waitpid(theirs, &status, 0), theirs);
  EXPECT_EQ(WEXITSTATUS(status), 9);
}

}  // namespace
}  // namespace ridgeline::worker
