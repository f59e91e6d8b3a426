#include "worker/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "tests/unit/worker/places.h"

namespace ridgeline::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::TemporaryFolder;

pid_t start(const SpawnOptions& options) {
  const auto process = spawn(options);
  EXPECT_TRUE(process.has_value()) << process.error().message();
  return process ? *process : 0;
}

int wait_for(pid_t process) {
  int status = -1;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  return status;
}

std::string read_all(int fd) {
  std::string text;
  char chunk[4096];
  for (ssize_t got = ::read(fd, chunk, sizeof(chunk)); got > 0; got = ::read(fd, chunk, sizeof(chunk))) {
    text.append(chunk, static_cast<std::size_t>(got));
  }
  return text;
}

/// What a shell command writes to descriptor 1.
std::string output_of(const std::string& command, SpawnOptions options = {}) {
  auto [read_end, write_end] = pipe_pair();
  options.arguments = {"/bin/sh", "-c", command};
  options.descriptors.emplace_back(write_end.get(), 1);
  const pid_t process = start(options);
  write_end.reset();
  std::string text = read_all(read_end.get());
  wait_for(process);
  return text;
}

/// The open descriptors of a child, and where they lead.
std::map<int, std::string> descriptors_of_child(const SpawnOptions& options) {
  std::istringstream lines(output_of("ls -l /proc/$$/fd; :", options));  // of the shell: ls is a child of it
  std::map<int, std::string> found;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t arrow = line.find(" -> ");
    if (arrow != std::string::npos) {
      found[std::stoi(line.substr(line.rfind(' ', arrow - 1)))] = line.substr(arrow + 4);
    }
  }
  return found;
}

TEST(Spawn, TellsExitCodeAndSignal) {
  const int code = wait_for(start({{"/bin/sh", "-c", "exit 7"}, "", {}}));
  EXPECT_TRUE(WIFEXITED(code) && WEXITSTATUS(code) == 7);
  const int signal = wait_for(start({{"/bin/sh", "-c", "kill -9 $$"}, "", {}}));
  EXPECT_TRUE(WIFSIGNALED(signal) && WTERMSIG(signal) == SIGKILL);
}

TEST(Spawn, FindsProgramsOnThePath) { EXPECT_EQ(wait_for(start({{"true"}, "", {}})), 0); }

TEST(Spawn, SaysWhichProgramIsMissing) {
  const std::vector<pid_t> before = testing::children("Z");
  const auto failed = spawn({{"/no/such/program"}, "", {}});
  ASSERT_FALSE(failed.has_value());
  const std::string error = failed.error().message();
  EXPECT_THAT(error, HasSubstr("/no/such/program"));
  EXPECT_THAT(error, HasSubstr("No such file"));
  EXPECT_EQ(testing::children("Z"), before);
}

TEST(Spawn, SaysWhatIsWrongWithAProgram) {
  const TemporaryFolder folder;
  const auto not_executable = spawn({{folder.file("plain", "#!/bin/sh\n").string()}, "", {}});
  ASSERT_FALSE(not_executable.has_value());
  EXPECT_THAT(not_executable.error().message(), HasSubstr("Permission denied"));
  const auto no_folder = spawn({{"true"}, (folder / "missing").string(), {}});
  ASSERT_FALSE(no_folder.has_value());
  EXPECT_THAT(no_folder.error().message(), HasSubstr("No such file"));
}

TEST(Spawn, StartsInTheFolder) {
  const TemporaryFolder folder;
  EXPECT_EQ(output_of("pwd -P", {{}, folder.path().string(), {}}), folder.path().string() + "\n");
}

TEST(Spawn, MakesAGroupOfItsOwn) {
  const pid_t process = start({{"sleep", "1000"}, "", {}});
  EXPECT_EQ(testing::state_of(process).group, process);
  signal_group(process, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(wait_for(process)));
}

TEST(Spawn, PutsDescriptorsAtTheirNumbersAndLeavesNothingElseOpen) {
  const TemporaryFolder folder;
  const std::string error_path = folder.file("stderr", "").string();
  const std::string channel_path = folder.file("channel", "").string();
  const Descriptor errors(::open(error_path.c_str(), O_WRONLY | O_CLOEXEC));
  const Descriptor channel(::open(channel_path.c_str(), O_RDWR | O_CLOEXEC));
  const Descriptor leaked(::open("/dev/zero", O_RDONLY));  // NOLINT: some library forgot O_CLOEXEC
  const Descriptor high(::fcntl(leaked.get(), F_DUPFD, 200));
  const auto found = descriptors_of_child({{}, "", {{errors.get(), 2}, {channel.get(), 7}}});
  EXPECT_THAT(found, ElementsAre(Pair(0, "/dev/null"), Pair(1, HasSubstr("pipe:")), Pair(2, error_path),
                                 Pair(7, channel_path)));
}

/// The daemon's own output is the protocol that it speaks: nothing else may write there.
TEST(Spawn, GivesNoChildOurOwnStandardDescriptors) {
  EXPECT_THAT(descriptors_of_child({}),
              ElementsAre(Pair(0, "/dev/null"), Pair(1, HasSubstr("pipe:")), Pair(2, "/dev/null")));
}

TEST(Spawn, SwapsDescriptorsThatTradePlaces) {
  const TemporaryFolder folder;
  const Descriptor first(::open(folder.file("first", "1").c_str(), O_RDONLY | O_CLOEXEC));
  const Descriptor second(::open(folder.file("second", "2").c_str(), O_RDONLY | O_CLOEXEC));
  const std::string command = "cat <&" + std::to_string(first.get()) + "; cat <&" + std::to_string(second.get());
  EXPECT_EQ(output_of(command, {{}, "", {{first.get(), second.get()}, {second.get(), first.get()}}}), "21");
}

TEST(Spawn, GivesAChildDefaultSignals) {
  const auto before = ::signal(SIGTERM, SIG_IGN);
  sigset_t blocked;
  sigset_t old;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &blocked, &old);
  const pid_t process = start({{"sleep", "1000"}, "", {}});
  signal_group(process, SIGTERM);
  const int status = wait_for(process);
  ::sigprocmask(SIG_SETMASK, &old, nullptr);
  ::signal(SIGTERM, before);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

TEST(SignalGroup, NeverReachesOurselves) {
  signal_group(::getpgrp(), SIGKILL);
  signal_group(0, SIGKILL);
  signal_group(1, SIGKILL);
  signal_group(-1, SIGKILL);
  SUCCEED() << "we are still here";
}

TEST(SignalGroup, ReachesTheChildrenOfAChild) {
  const TemporaryFolder folder;
  const std::string path = (folder / "grandchild").string();
  const pid_t process = start({{"/bin/sh", "-c", "sleep 1000 & echo $! > " + path + "; wait"}, "", {}});
  ASSERT_TRUE(testing::eventually([&] { return testing::process_in(path).has_value(); }));
  const pid_t grandchild = *testing::process_in(path);
  signal_group(process, SIGKILL);
  wait_for(process);
  EXPECT_TRUE(testing::eventually([&] { return testing::is_gone(grandchild); }));
}

TEST(Descriptor, IsClosedOnceAndOnlyByItsOwner) {
  auto [read_end, write_end] = pipe_pair();
  const int number = write_end.get();
  Descriptor moved = std::move(write_end);
  EXPECT_EQ(moved.get(), number);
  EXPECT_NE(::fcntl(number, F_GETFD), -1);
  EXPECT_EQ(::fcntl(number, F_GETFD), FD_CLOEXEC);
  moved = Descriptor();
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
  EXPECT_EQ(read_all(read_end.get()), "");
  const int released = read_end.release();
  read_end.reset();
  EXPECT_NE(::fcntl(released, F_GETFD), -1);
  ::close(released);
}

}  // namespace
}  // namespace ridgeline::worker
