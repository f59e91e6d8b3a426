// Runs of a worker, with children that do anything but what they should.
#include <gmock/gmock.h>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <new>

#include "protocol/recording.h"
#include "tests/unit/worker/rogue.h"

namespace ridgeline::worker {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class WorkerRun : public testing::RogueTest {
 protected:
  /// A worker that answers every run with this body of `child(run)`.
  void child(std::string_view body) {
    script("def child(run):\n" + std::string(body) + "warm()\nwhile True:\n    fork_run(child)\n");
  }
  /// The parent, after a good run of its child.
  pid_t idle_parent() {
    begin();
    EXPECT_TRUE(std::holds_alternative<RunOutput>(finish().outcome));
    return worker_->parent_process();
  }
  void cancel_when_noted(std::string_view name) {
    begin();
    process_ = noted(name);
    worker_->cancel();
  }
  pid_t process_ = 0;
};

TEST_F(WorkerRun, GivesWhatAGoodChildMeasured) {
  child("    print('hello from the user', flush=True)\n    good(run)\n");
  begin();
  const Finished& finished = finish();
  const auto* output = std::get_if<RunOutput>(&finished.outcome);
  ASSERT_NE(output, nullptr) << failure_of(finished).message;
  EXPECT_EQ(output->environment.torch, "2.13.0");
  EXPECT_EQ(output->result.batch_size, 32);
  ASSERT_EQ(output->batches.size(), 1U);
  EXPECT_EQ(output->batches[0].batch_size, 32);
  EXPECT_EQ(output->batches[0].times_ns, std::vector<double>{1e6});
  const auto recording = recording::Recording::parse(output->batches[0].recording);
  ASSERT_TRUE(recording.has_value()) << recording.error().message();
  EXPECT_EQ(recording->string(1), "a.py");
  EXPECT_EQ(finished.output, "hello from the user\n");
  EXPECT_THAT(stages_, Contains("record"));
}

TEST_F(WorkerRun, ForksTheNextOneFromTheSameParent) {
  child("    good(run)\n");
  const pid_t parent = idle_parent();
  begin();
  EXPECT_TRUE(std::holds_alternative<RunOutput>(finish().outcome));
  EXPECT_EQ(worker_->parent_process(), parent);
}

TEST_F(WorkerRun, KeepsTheEndOfWhatTheChildWrote) {
  child("    sys.stdout.write('x' * 3_000_000 + 'the end')\n    sys.stdout.flush()\n    good(run)\n");
  begin();
  const Finished& finished = finish();
  EXPECT_TRUE(std::holds_alternative<RunOutput>(finished.outcome));
  EXPECT_EQ(finished.output.size(), std::size_t{64} << 10U);
  EXPECT_TRUE(finished.output.ends_with("the end"));
}

TEST_F(WorkerRun, PassesOnTheFailureOfTheUsersCode) {
  child(
      "    send(run, type='failure', kind='exception', stage='warmup', message='boom',\n"
      "         frames=[dict(file='/project/entry.py', line=3, function='f', text='1 / 0')])\n    os._exit(1)\n");
  const protocol::Failure failure = run_to_failure();
  EXPECT_EQ(failure.kind, protocol::FailureKind::kException);
  EXPECT_EQ(failure.stage, "warmup");
  ASSERT_EQ(failure.frames.size(), 1U);
  EXPECT_EQ(failure.frames[0].line, 3);
}

TEST_F(WorkerRun, TellsHowAChildEnded) {
  child("    os._exit(7)\n");
  const protocol::Failure code = run_to_failure();
  EXPECT_EQ(code.kind, protocol::FailureKind::kProcessDied);
  EXPECT_THAT(code.message, HasSubstr("exit code 7"));
  child("    os.kill(os.getpid(), signal.SIGKILL)\n");
  const protocol::Failure signal = run_to_failure();
  EXPECT_EQ(signal.kind, protocol::FailureKind::kProcessDied);
  EXPECT_THAT(signal.message, HasSubstr("memory"));
}

TEST_F(WorkerRun, SaysWhenTheChildFailedAfterItsResult) {
  child("    good(run)\n    os._exit(1)\n");
  begin();
  EXPECT_THAT(warning_of(finish()), HasSubstr("exit code 1"));
}

TEST_F(WorkerRun, RefusesAResultWithoutItsRecording) {
  child("    result(run, final=True)\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kWorkerProtocol);
}

TEST_F(WorkerRun, RefusesAResultThatIsNotFinal) {
  child("    result(run, final=False)\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kProcessDied);
}

constexpr std::string_view kTimedTwice =
    "    recorded(run)\n    send(run, type='timed', batchSize=32, timesNs=[1e6, 2e6])\n"
    "    send(run, type='timed', batchSize=32, timesNs=[3e6, 4e6])\n";

TEST_F(WorkerRun, ReportsWhatWasMeasuredUntilTheTimeLimit) {
  child(std::string(kTimedTwice) +
        "    sys.stdout.write('Stack (most recent call first):\\n  File \"/lib/torch/nn.py\", line 1 in f\\n'\n"
        "                     '  File \"/project/entry.py\", line 7 in step\\n')\n"
        "    sys.stdout.flush()\n    hang()\n");
  begin({std::chrono::milliseconds(1000)});
  const Finished& finished = finish();
  const std::string warning = warning_of(finished);
  EXPECT_THAT(warning, HasSubstr("stopped after 1 s"));
  EXPECT_THAT(warning, HasSubstr("It was at entry.py:7."));
  EXPECT_THAT(warning, HasSubstr("the iteration time is of 4 bare iterations."));
  const auto& output = std::get<RunOutput>(finished.outcome);
  EXPECT_EQ(output.batches[0].times_ns, (std::vector<double>{1e6, 2e6, 3e6, 4e6}));
  EXPECT_EQ(output.batches[0].per_round, 2);
  EXPECT_EQ(output.environment.torch, "2.13.0");
  expect_gone(noted("child"));
}

TEST_F(WorkerRun, ReportsWhatWasMeasuredUntilAnyOtherEnd) {
  const std::pair<const char*, const char*> ends[] = {
      {"os.kill(os.getpid(), signal.SIGKILL)", "signal 9"},
      {"os._exit(0)", "exit code 0"},
      {"run.close(); os._exit(71)", "lost its connection"},
      {"run.sendall(b'garbage' * 10); hang()", "lost its connection"},
      {"send(run, type='failure', kind='exception', stage='time', message='E: boom\\nmore', frames=[])", "E: boom. "},
      {"send(run, type='recording', batchSize=64, bytes=1 << 62, check=False, warmupNs=[1]); hang()", "exceeds"},
      {"send(run, type='recording', batchSize=64, bytes=8, check=False, warmupNs=[1]); os._exit(1)", "exit code 1"},
      {"os.kill(os.getppid(), signal.SIGKILL); hang()", "The worker was ended by signal 9"},
  };
  for (const auto& [end, words] : ends) {
    std::filesystem::remove(folder_ / "told");
    child(std::string(kTimedTwice) + "    wait_for('told')\n    " + end + "\n");
    begin();
    const std::string warning = warning_of(finish());
    EXPECT_THAT(warning, HasSubstr(words)) << end;
    EXPECT_THAT(warning, HasSubstr("4 bare iterations.")) << end;
  }
}

TEST_F(WorkerRun, TakesTheLastWarmUpsWhereNothingWasTimed) {
  child("    recorded(run)\n    os._exit(7)\n");
  begin();
  const Finished& finished = finish();
  EXPECT_THAT(warning_of(finished), HasSubstr("of 2 warm-up iterations."));
  EXPECT_EQ(std::get<RunOutput>(finished.outcome).batches[0].times_ns, (std::vector<double>{3e6, 2e6}));
}

TEST_F(WorkerRun, LeavesABatchSizeOutThatFailedAfterItsRecording) {
  child(
      "    recorded(run)\n    record(run, 64)\n    send(run, type='timed', batchSize=64, timesNs=[1e6])\n"
      "    send(run, type='skipped', batchSize=64, kind='exception', stage='time', message='boom', frames=[])\n"
      "    result(run, final=True)\n");
  begin();
  const Finished& finished = finish();
  const auto* output = std::get_if<RunOutput>(&finished.outcome);
  ASSERT_NE(output, nullptr) << failure_of(finished).message;
  ASSERT_EQ(output->batches.size(), 1U);
  ASSERT_EQ(output->skipped.size(), 1U);
  EXPECT_EQ(output->skipped[0].batch_size, 64);
}

TEST_F(WorkerRun, StaysCancelledWhateverWasMeasured) {
  child(std::string(kTimedTwice) + "    note('timed')\n    hang()\n");
  cancel_when_noted("timed");
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kCancelled);
}

TEST_F(WorkerRun, RefusesTimesThatBelongToNothing) {
  const char* rounds[] = {
      "send(run, type='timed', batchSize=64, timesNs=[1e6])",
      "send(run, type='timed', batchSize=32, timesNs=[1e6]); send(run, type='timed', batchSize=32, timesNs=[1e6, 1e6])",
      "record(run)",
  };
  for (const char* round : rounds) {
    child("    record(run)\n    " + std::string(round) + "\n    hang()\n");
    EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kWorkerProtocol) << round;
  }
}

constexpr const char* kAsking =
    "    send(run, type='choose', secondsLeft=7.5, roundSeconds=0.03, largestAffordable=512, first=[32],\n"
    "         excluded=[], samples=[dict(batchSize=32, roundMediansNs=[1e6])])\n"
    "    print(run.recv(65536)[8:].decode(), flush=True)\n    good(run)\n";

TEST_F(WorkerRun, AnswersWhichSizesToTime) {
  child(kAsking);
  std::optional<ChoiceAsked> seen;
  std::optional<Finished> finished;
  worker_->run({"/project/entry.py", "/project", {32}, 1, 0, {}}, {},
               [&](Event event) {
                 if (auto* end = std::get_if<Finished>(&event)) {
                   finished = std::move(*end);
                 }
               },
               {loop_.get_executor(), [&](const ChoiceAsked& asked) {
                  seen = asked;
                  return std::vector<int>{8, 64};
                }});
  ASSERT_TRUE(testing::run_until(loop_, [&] { return finished.has_value(); }));
  EXPECT_TRUE(std::holds_alternative<RunOutput>(finished->outcome));
  EXPECT_EQ(finished->output, "{\"batchSizes\":[8,64],\"type\":\"chosen\"}\n");
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->seconds_left, 7.5);
}

TEST_F(WorkerRun, TimesNothingMoreWhenChoosingFails) {
  child(kAsking);
  std::optional<Finished> finished;
  boost::asio::thread_pool pool(1);
  worker_->run({"/project/entry.py", "/project", {32}, 1, 0, {}}, {},
               [&](Event event) {
                 if (auto* end = std::get_if<Finished>(&event)) {
                   finished = std::move(*end);
                 }
               },
               {pool.get_executor(), [](const ChoiceAsked&) -> std::vector<int> { throw std::bad_alloc(); }});
  ASSERT_TRUE(testing::run_until(loop_, [&] { return finished.has_value(); }));
  EXPECT_TRUE(std::holds_alternative<RunOutput>(finished->outcome));
  EXPECT_EQ(finished->output, "{\"batchSizes\":[],\"type\":\"chosen\"}\n");
}

TEST_F(WorkerRun, TimesNothingMoreWithoutAChooser) {
  child(kAsking);
  begin();
  EXPECT_EQ(finish().output, "{\"batchSizes\":[],\"type\":\"chosen\"}\n");
}

TEST_F(WorkerRun, KeepsABatchSizeThatWasOnlyTimed) {
  child(
      "    recorded(run)\n    send(run, type='warmed', batchSize=64, warmupNs=[3e6])\n"
      "    send(run, type='timed', batchSize=64, timesNs=[2e6])\n"
      "    send(run, type='warmed', batchSize=128, warmupNs=[3e6])\n    result(run, final=True)\n");
  begin();
  const Finished& finished = finish();
  const auto* output = std::get_if<RunOutput>(&finished.outcome);
  ASSERT_NE(output, nullptr) << failure_of(finished).message;
  ASSERT_EQ(output->batches.size(), 2U);
  EXPECT_EQ(output->batches[1].batch_size, 64);
  EXPECT_EQ(output->batches[1].recording, nullptr);
  EXPECT_EQ(output->batches[1].times_ns, (std::vector<double>{2e6}));
}

TEST_F(WorkerRun, RefusesGarbage) {
  child("    run.sendall(b'Segmentation fault, core dumped')\n    hang()\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kChannelBroken);
  expect_gone(noted("child"));
}

TEST_F(WorkerRun, RefusesAFrameThatIsTooLarge) {
  child("    run.sendall(struct.pack('<2sBBI', b'RL', 1, 2, 0xFFFFFFFF))\n    hang()\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kChannelBroken);
}

TEST_F(WorkerRun, RefusesMoreOfARecordingThanWasAnnounced) {
  child(
      "    send(run, type='recording', batchSize=32, bytes=4, check=False, warmupNs=[1])\n    run.sendall(frame(2, "
      "b'12345'))\n    hang()\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kWorkerProtocol);
  child("    run.sendall(frame(2, b'never announced'))\n    hang()\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kWorkerProtocol);
}

TEST_F(WorkerRun, SaysThatTheChannelWasClosed) {
  child("    run.close()\n    os._exit(71)\n");
  const protocol::Failure failure = run_to_failure();
  EXPECT_EQ(failure.kind, protocol::FailureKind::kChannelBroken);
  EXPECT_THAT(failure.message, HasSubstr("os.closerange"));
}

TEST_F(WorkerRun, SaysThatThereWereTooManyProcesses) {
  script(
      "warm()\nmessage, descriptors = receive()\nsend(channel, type='started', id=message['id'], pid=1 << 30, "
      "parent=os.getpid())\n"
      "send(channel, type='exited', id=message['id'], status=9, tooMany='more than 7 processes')\n"
      "for descriptor in descriptors:\n    os.close(descriptor)\nreceive()\n");
  const protocol::Failure failure = run_to_failure();
  EXPECT_EQ(failure.kind, protocol::FailureKind::kTooManyProcesses);
  EXPECT_THAT(failure.message, HasSubstr("more than 7 processes"));
}

TEST_F(WorkerRun, SaysWhereARunHung) {
  child(
      "    sys.stdout.write('before\\nStack (most recent call first):\\n  File \"/p/entry.py\", line 7 in step\\n')\n"
      "    sys.stdout.flush()\n    hang()\n");
  begin({std::chrono::milliseconds(1000)});
  const Finished& finished = finish();
  const protocol::Failure& failure = failure_of(finished);
  EXPECT_EQ(failure.kind, protocol::FailureKind::kTimeout);
  ASSERT_EQ(failure.frames.size(), 1U);
  EXPECT_EQ(failure.frames[0].line, 7);
  EXPECT_EQ(finished.output, "before\n");
}

TEST_F(WorkerRun, RefusesRecordingsBeyondTheLimit) {
  for (const char* bytes : {"1 << 62", "(1 << 64) - 1", "11"}) {
    child("    send(run, type='recording', batchSize=32, bytes=" + std::string(bytes) +
          ", check=False, warmupNs=[1])\n    hang()\n");
    RunLimits limits;
    limits.recording_bytes = 10;
    EXPECT_EQ(run_to_failure(limits).kind, protocol::FailureKind::kRecordingTooLarge) << bytes;
  }
}

/// One that writes without end and does not listen: it is killed all the same.
TEST_F(WorkerRun, EndsAChildThatFloodsTheChannelAndIgnoresSignals) {
  child("    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    while True:\n        run.sendall(b'garbage' * 1000)\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kChannelBroken);
  expect_gone(noted("child"));
}

TEST_F(WorkerRun, CancelEndsAChildThatHangs) {
  child("    note('hanging')\n    hang()\n");
  cancel_when_noted("hanging");
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kCancelled);
  expect_gone(process_);
}

TEST_F(WorkerRun, CancelEndsAChildThatIgnoresSignals) {
  child("    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    note('hanging')\n    hang()\n");
  cancel_when_noted("hanging");
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kCancelled);
  expect_gone(process_);
}

TEST_F(WorkerRun, CancelEndsWhatAChildStarted) {
  child("    if os.fork() == 0:\n        note('grandchild')\n        hang()\n    hang()\n");
  cancel_when_noted("grandchild");
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kCancelled);
  expect_gone(process_);
}

TEST_F(WorkerRun, CancelEndsAChildThatClosedItsChannel) {
  child("    run.close()\n    note('closed')\n    hang()\n");
  begin();
  process_ = noted("closed");
  loop_.poll();  // sees the end of the channel
  worker_->cancel();
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kCancelled);
  expect_gone(process_);
}

/// The ends that nobody tells of. The usual time limit of ten minutes is far beyond a test's patience.
TEST_F(WorkerRun, NamesAnEndThatTheTimeLimitNeedNotFind) {
  using enum protocol::FailureKind;
  const std::pair<const char*, protocol::FailureKind> ends[] = {
      {"run.close(); hang()", kChannelBroken},
      {"os.execv('/bin/sleep', ['sleep', '1000'])", kProcessReplaced},
      {"run.set_inheritable(True); os.execv(sys.executable, ['python', '-c', 'import time; time.sleep(1000)'])",
       kProcessReplaced},
      {"os.kill(os.getpid(), signal.SIGSTOP)", kProcessStopped},
      {"import ctypes, threading; threading.Thread(target=hang).start(); ctypes.CDLL(None).pthread_exit(None)",
       kMainThreadEnded},
  };
  for (const auto& [end, kind] : ends) {
    child("    " + std::string(end) + "\n");
    EXPECT_EQ(run_to_failure().kind, kind) << end;
    expect_gone(noted("child"));
    std::filesystem::remove(folder_ / "child");
  }
}

TEST_F(WorkerRun, ReportsWhatWasMeasuredUntilTheProcessStopped) {
  child(std::string(kTimedTwice) + "    os.kill(os.getpid(), signal.SIGSTOP)\n");
  begin();
  EXPECT_THAT(warning_of(finish()), HasSubstr("stopped by a signal"));
}

/// A debugger or a laptop's lid stops a process for a moment.
TEST_F(WorkerRun, GoesOnAfterAStopThatEnds) {
  child("    note('running')\n    wait_for('go on')\n    good(run)\n");
  begin();
  process_ = noted("running");
  ::kill(process_, SIGSTOP);
  loop_.poll();
  ::kill(process_, SIGCONT);
  std::ofstream(folder_ / "go on") << "now";
  EXPECT_TRUE(std::holds_alternative<RunOutput>(finish().outcome)) << failure_of(finished_.back()).message;
}

TEST_F(WorkerRun, StaysCancelledWhateverTheChildSaysThen) {
  child(
      "    signal.signal(signal.SIGTERM, lambda *_: (run.sendall(b'garbage' * 100), os._exit(1)))\n"
      "    note('hanging')\n    hang()\n");
  cancel_when_noted("hanging");
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kCancelled);
}

TEST_F(WorkerRun, CancelCountsWhenTheChildHasFailedAlready) {
  child(
      "    note('fails')\n"  // before it does: the run may be over before another word of the child
      "    send(run, type='failure', kind='exception', stage='warmup', message='boom', frames=[])\n"
      "    hang()\n");
  cancel_when_noted("fails");
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kCancelled);
  expect_gone(process_);
}

TEST_F(WorkerRun, TheParentSurvivesACancelledRun) {
  child("    if not os.path.exists(FOLDER + '/first'):\n        note('first')\n        hang()\n    good(run)\n");
  cancel_when_noted("first");
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kCancelled);
  const pid_t parent = worker_->parent_process();
  begin();
  EXPECT_TRUE(std::holds_alternative<RunOutput>(finish().outcome)) << failure_of(finished_.back()).message;
  EXPECT_EQ(worker_->parent_process(), parent);
}

TEST_F(WorkerRun, EndsTheChildOfAParentThatDies) {
  script(
      "def child(run):\n    note('running')\n    wait_for('told')\n    os.kill(os.getppid(), signal.SIGKILL)\n    "
      "hang()\n"
      "warm()\nfork_run(child)\n");
  const protocol::Failure failure = run_to_failure();
  EXPECT_EQ(failure.kind, protocol::FailureKind::kWorkerDied);
  EXPECT_THAT(failure.message, HasSubstr("signal 9"));
  expect_gone(noted("running"));
}

TEST_F(WorkerRun, RefusesAParentThatBreaksTheProtocol) {
  script(
      "def child(run):\n    note('running')\n    hang()\n"
      "def break_protocol(*_):\n    channel.sendall(b'garbage!' * 10)\n    hang()\n"
      "signal.signal(signal.SIGUSR1, break_protocol)\nnote('parent')\nwarm()\nfork_run(child)\n");
  begin();
  const pid_t child = noted("running");
  noted("told");
  ::kill(noted("parent"), SIGUSR1);
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kWorkerProtocol);
  expect_gone(child);
}

TEST_F(WorkerRun, EndsWhenTheParentNeverForks) {
  script("warm()\nreceive()\nnote('asked')\nreceive()\n");
  cancel_when_noted("asked");
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kCancelled);
}

TEST_F(WorkerRun, EndsAParentThatNeverForks) {
  script("note('parent')\nwarm()\nreceive()\nreceive()\n");
  const protocol::Failure failure =
      run_to_failure({.begin = std::chrono::milliseconds(100), .answer = std::chrono::milliseconds(1000)});
  EXPECT_EQ(failure.kind, protocol::FailureKind::kWorkerDied);
  EXPECT_THAT(failure.message, HasSubstr("said nothing for 1 s"));
  expect_gone(noted("parent"));
}

TEST_F(WorkerRun, EndsAParentThatNeverTellsTheEndOfARun) {
  script(
      "def child(run):\n    note('running')\n    run.close()\n"
      "def stop(*_):\n    os.kill(os.getpid(), signal.SIGSTOP)\n"
      "note('parent')\nwarm()\nsignal.signal(signal.SIGCHLD, stop)\nfork_run(child)\n");
  EXPECT_EQ(run_to_failure({.answer = std::chrono::milliseconds(1000)}).kind, protocol::FailureKind::kWorkerDied);
  expect_gone(noted("parent"));
  expect_gone(noted("running"));
}

TEST_F(WorkerRun, BeginsAnewAfterAParentThatWasStopped) {
  child("    if not os.path.exists(FOLDER + '/first'):\n        note('first')\n        hang()\n    good(run)\n");
  begin();
  process_ = noted("first");
  const pid_t parent = worker_->parent_process();
  noted("told");
  loop_.poll();
  ::kill(parent, SIGSTOP);
  worker_->cancel();
  EXPECT_EQ(failure_of(finish()).kind, protocol::FailureKind::kCancelled);
  begin();
  EXPECT_TRUE(std::holds_alternative<RunOutput>(finish().outcome)) << failure_of(finished_.back()).message;
  EXPECT_NE(worker_->parent_process(), parent);
  expect_gone(parent);
  expect_gone(process_);
}

TEST_F(WorkerRun, GoesToAnotherParentWhenTheIdleOneWasKilled) {
  child("    good(run)\n");
  const pid_t parent = idle_parent();
  ::kill(parent, SIGKILL);
  begin();
  EXPECT_TRUE(std::holds_alternative<RunOutput>(finish().outcome)) << failure_of(finished_.back()).message;
  EXPECT_NE(worker_->parent_process(), parent);
}

TEST_F(WorkerRun, GoesToAnotherParentWhenTheIdleOneWasStopped) {
  child("    good(run)\n");
  const pid_t parent = idle_parent();
  ::kill(parent, SIGSTOP);
  begin({.begin = std::chrono::milliseconds(100)});
  EXPECT_TRUE(std::holds_alternative<RunOutput>(finish().outcome)) << failure_of(finished_.back()).message;
  EXPECT_NE(worker_->parent_process(), parent);
  expect_gone(parent);
}

TEST_F(WorkerRun, GoesToAnotherParentOnce) {
  script("warm()\nreceive()\nnote('asked' + str(os.getpid()))\n");
  EXPECT_EQ(run_to_failure().kind, protocol::FailureKind::kWorkerDied);
  std::size_t asked = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    asked += file.path().filename().string().starts_with("asked") ? 1U : 0U;
  }
  EXPECT_EQ(asked, 2U);
}

TEST_F(WorkerRun, HoldsNobodyUpWhenAStoppedParentIsLetGo) {
  script(
      "import atexit\natexit.register(note, 'ended')\n"
      "def child(run):\n    good(run)\nwarm()\nwhile True:\n    fork_run(child)\n");
  const pid_t parent = idle_parent();
  ::kill(parent, SIGSTOP);
  worker_.reset();
  EXPECT_EQ(noted("ended"), parent) << "it ended by itself, nobody had to wait and kill it";
  expect_gone(parent);
}

TEST_F(WorkerRun, LeavesNoProcessWhenTheWorkerIsDestroyed) {
  child("    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    note('running')\n    hang()\n");
  begin();
  const pid_t process = noted("running");
  const pid_t parent = worker_->parent_process();
  noted("told");
  loop_.poll();
  worker_.reset();
  expect_gone(process);
  expect_gone(parent);
  loop_.poll();
  EXPECT_TRUE(finished_.empty());
}

TEST_F(WorkerRun, MayBeDestroyedRightAfterItsEnd) {
  child("    good(run)\n");
  bool ended = false;
  worker_->run({"/project/entry.py", "/project", {32}, 1, 0, {}}, {}, [&](const Event& event) {
    if (std::holds_alternative<Finished>(event)) {
      ended = true;
      boost::asio::post(loop_, [this] { worker_.reset(); });
    }
  });
  EXPECT_TRUE(testing::run_until(loop_, [&] { return ended && !worker_.has_value(); }));
  loop_.poll();
}

}  // namespace
}  // namespace ridgeline::worker
