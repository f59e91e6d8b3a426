// The start of a worker, with interpreters that do anything but what they should.
#include <gmock/gmock.h>

#include <boost/asio/post.hpp>

#include "tests/unit/worker/rogue.h"

namespace ridgeline::worker {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class WorkerStart : public testing::RogueTest {};

TEST_F(WorkerStart, TellsOfAMissingInterpreter) {
  interpreter("/no/such/python");
  const protocol::Failure failure = run_to_failure();
  EXPECT_EQ(failure.kind, protocol::FailureKind::kInterpreter);
  EXPECT_THAT(failure.message, HasSubstr("/no/such/python"));
}

TEST_F(WorkerStart, TellsOfACacheThatCannotBeUsed) {
  fs::remove_all(cache_.path());
  std::ofstream(cache_.path()) << "a file";
  shell("exit 0\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kCache);
}

TEST_F(WorkerStart, TellsTheLastWordsOfAnInterpreterThatEnds) {
  shell("echo 'No module named encodings' >&2; exit 3\n");
  const protocol::Failure failure = run_to_failure();
  EXPECT_EQ(failure.kind, protocol::FailureKind::kWorkerDied);
  EXPECT_THAT(failure.message, HasSubstr("exit code 3"));
  EXPECT_THAT(failure.message, HasSubstr("No module named encodings"));
}

TEST_F(WorkerStart, TellsTheSignalThatEndedAnInterpreter) {
  shell("kill -SEGV $$\n");
  const protocol::Failure failure = run_to_failure();
  EXPECT_EQ(failure.kind, protocol::FailureKind::kWorkerDied);
  EXPECT_THAT(failure.message, HasSubstr("signal 11"));
}

TEST_F(WorkerStart, RefusesGarbage) {
  shell("echo 'Python 3.11.9 (main) [GCC 12.2.0]' >&3; sleep 1000\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kWorkerProtocol);
}

TEST_F(WorkerStart, RefusesAFrameThatIsTooLarge) {
  shell("printf 'RL\\001\\001\\377\\377\\377\\377' >&3; sleep 1000\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kWorkerProtocol);
}

TEST_F(WorkerStart, RefusesAnotherVersion) {
  shell("printf 'RL\\002\\001\\002\\000\\000\\000{}' >&3; sleep 1000\n");
  const protocol::Failure failure = run_to_failure();
  EXPECT_EQ(failure.kind, protocol::FailureKind::kWorkerProtocol);
  EXPECT_THAT(failure.message, HasSubstr("version 2"));
}

TEST_F(WorkerStart, RefusesAMessageThatIsNone) {
  script("send(channel, type='hello')\nhang()\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kWorkerProtocol);
}

TEST_F(WorkerStart, RefusesAnAgentThatWasLoadedBeforeItWasAskedFor) {
  script("send(channel, type='agentLoaded')\nhang()\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kWorkerProtocol);
}

TEST_F(WorkerStart, RefusesAnAgentThatWasRefusedBeforeItWasAskedFor) {
  script("send(channel, type='agentRefused', message='no')\nhang()\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kWorkerProtocol);
}

TEST_F(WorkerStart, RefusesASecondGreeting) {
  script("ready()\nready()\nhang()\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kWorkerProtocol);
}

TEST_F(WorkerStart, TellsThatThereIsNoTorch) {
  script(
      "send(channel, type='unusable', message='ModuleNotFoundError: torch', python='3.11.9', "
      "executable='/rogue')\nhang()\n");
  const protocol::Failure failure = run_to_failure();
  EXPECT_EQ(failure.kind, protocol::FailureKind::kNoTorch);
  EXPECT_THAT(failure.message, HasSubstr("ModuleNotFoundError: torch"));
  EXPECT_THAT(failure.message, HasSubstr("--python"));
}

/// It speaks and ends before the daemon looks: its words count, not its end.
TEST_F(WorkerStart, HearsWhatAnInterpreterSaidBeforeItEnded) {
  script("send(channel, type='unusable', message='no torch', python='3.11.9', executable='/rogue')\nsys.exit(1)\n");
  begin();
  ASSERT_TRUE(testing::eventually([] { return testing::living_children().empty(); }));
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kNoTorch);
}

TEST_F(WorkerStart, ForgetsAnAgentThatTheInterpreterRefuses) {
  script("ready()\nreceive()\nsend(channel, type='agentRefused', message='undefined symbol')\nhang()\n");
  const protocol::Failure failure = run_to_failure();
  EXPECT_EQ(failure.kind, protocol::FailureKind::kAgentRefused);
  EXPECT_THAT(failure.message, HasSubstr("undefined symbol"));
  EXPECT_FALSE(fs::exists(agent_));
}

TEST_F(WorkerStart, EndsWithTheWordsOfTheCompiler) {
  const testing::Variable compiler("CXX",
                                   folder_.program("compiler", "#!/bin/sh\necho 'error: no' >&2; exit 1\n").string());
  script("ready(torch='2.5.0')\nhang()\n");
  const protocol::Failure failure = run_to_failure();
  EXPECT_EQ(failure.kind, protocol::FailureKind::kAgentBuildFailed);
  EXPECT_THAT(failure.message, HasSubstr("error: no"));
  EXPECT_EQ(worker_->parent_process(), 0);
}

TEST_F(WorkerStart, CancelEndsTheBuild) {
  const std::string noted_at = (folder_ / "compiler").string();
  const testing::Variable compiler(
      "CXX", folder_.program("cxx", "#!/bin/sh\necho $$ > " + noted_at + "; sleep 1000 & wait\n").string());
  script("ready(torch='2.5.0')\nhang()\n");
  begin();
  const pid_t process = noted("compiler");
  worker_->cancel();
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kCancelled);
  expect_gone(process);
}

TEST_F(WorkerStart, CancelEndsARunThatNeverBegan) {
  script("note('interpreter')\nhang()\n");
  begin();
  const pid_t process = noted("interpreter");
  worker_->cancel();
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kCancelled);
  worker_.reset();
  expect_gone(process);
}

TEST_F(WorkerStart, CancelOfNothingIsNothing) {
  script("hang()\n");
  worker_->cancel();
  loop_.poll();
  EXPECT_TRUE(finished_.empty());
}

TEST_F(WorkerStart, TakesLongEnoughToBeStopped) {
  script("note('interpreter')\nhang()\n");
  EXPECT_EQ(run_to_failure({std::chrono::milliseconds(200)}).kind, protocol::FailureKind::kTimeout);
}

/// An interpreter that hung once is not waited for again.
TEST_F(WorkerStart, BeginsAnewAfterATimeout) {
  script(
      "if not os.path.exists(FOLDER + '/first'):\n    note('first')\n    hang()\nwarm()\nfork_run(good)\nreceive()\n");
  begin({std::chrono::milliseconds(1000)});
  const pid_t first = noted("first");
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kTimeout);
  expect_gone(first);
  begin();
  EXPECT_TRUE(std::holds_alternative<RunOutput>(finish().outcome)) << failure_of(finished_.back()).message;
}

TEST_F(WorkerStart, BeginsAnewAfterAnInterpreterDied) {
  script(
      "if not os.path.exists(FOLDER + '/first'):\n    note('first')\n    "
      "sys.exit(1)\nwarm()\nfork_run(good)\nreceive()\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kWorkerDied);
  begin();
  EXPECT_TRUE(std::holds_alternative<RunOutput>(finish().outcome)) << failure_of(finished_.back()).message;
}

TEST_F(WorkerStart, LeavesNoProcessWhenItIsDestroyed) {
  script("note('interpreter')\nready()\nhang()\n");
  begin();
  const pid_t process = noted("interpreter");
  worker_.reset();
  expect_gone(process);
  loop_.poll();
  EXPECT_TRUE(finished_.empty());
}

TEST_F(WorkerStart, MayBeDestroyedWhenItsMessagesHaveJustArrived) {
  script("ready()\nnote('said')\nhang()\n");
  begin();
  ASSERT_TRUE(testing::eventually([&] { return testing::process_in(folder_ / "said").has_value(); }));
  boost::asio::post(loop_, [this] { worker_.reset(); });  // in the same turn of the loop as the message
  loop_.poll();
  loop_.poll();
}

}  // namespace
}  // namespace ridgeline::worker
