#include "lsp/session/process_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "tests/unit/lsp/transport/places.h"

namespace ridgeline::lsp {
namespace {

using testing::run_until;

/// A process that does nothing.
class Sleeper {
 public:
  Sleeper() : process_(::fork()) {
    if (process_ == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  ~Sleeper() { end(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  pid_t id() const { return process_; }
  void end() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
      process_ = 0;
    }
  }

 private:
  pid_t process_;
};

class ProcessWatch : public ::testing::TestWithParam<WatchProcess> {};

TEST_P(ProcessWatch, TellsTheEnd) {
  boost::asio::io_context loop;
  Sleeper sleeper;
  int ends = 0;
  const auto watch = GetParam()(loop, sleeper.id(), [&] { ++ends; });
  ASSERT_NE(watch, nullptr);
  loop.poll();
  EXPECT_EQ(ends, 0);
  sleeper.end();
  EXPECT_TRUE(run_until(loop, [&] { return ends > 0; }));
  loop.run();
  EXPECT_EQ(ends, 1);
}

TEST_P(ProcessWatch, TellsNothingOnceItIsDropped) {
  boost::asio::io_context loop;
  Sleeper sleeper;
  auto watch = GetParam()(loop, sleeper.id(), [] { ADD_FAILURE(); });
  watch.reset();
  sleeper.end();
  loop.run();
}

TEST_P(ProcessWatch, KnowsThatThereIsNoSuchProcess) {
  boost::asio::io_context loop;
  Sleeper sleeper;
  const pid_t gone = sleeper.id();
  sleeper.end();
  for (const pid_t process : {gone, 0, -1}) {
    EXPECT_EQ(GetParam()(loop, process, [] { ADD_FAILURE(); }), nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ProcessWatch, ::testing::Values(watch_process_end, poll_process_end));

}  // namespace
}  // namespace ridgeline::lsp
