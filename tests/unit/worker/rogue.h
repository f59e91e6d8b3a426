// Rogue interpreters: programs that a test makes, which speak the real channel on descriptor 3, well or badly.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "protocol/recording_columns.h"
#include "tests/unit/protocol/small_recording.h"
#include "tests/unit/worker/places.h"
#include "worker/agent_build.h"
#include "worker/worker.h"

namespace ridgeline::worker::testing {

/// What every script begins with. `warm()` greets as a good worker does, `fork_run(child)` answers one run by a forked
/// child that gets its own channel, `note(name)` leaves the process number in a file.
inline constexpr std::string_view kPrelude = R"(
import json, os, signal, socket, struct, sys, time
channel = socket.socket(fileno=3)
def frame(kind, payload):
    return struct.pack('<2sBBI', b'RL', 1, kind, len(payload)) + payload
def send(to, **message):
    to.sendall(frame(1, json.dumps(message).encode()))
def note(name):
    with open(FOLDER + '/' + name + '.part', 'w') as file:
        file.write(str(os.getpid()))
    os.rename(FOLDER + '/' + name + '.part', FOLDER + '/' + name)
def wait_for(name):
    while not os.path.exists(FOLDER + '/' + name):
        time.sleep(0.001)
def hang():
    while True:
        time.sleep(1000)
def receive():
    data, descriptors, _, _ = socket.recv_fds(channel, 65536, 8)
    if not data:
        sys.exit(0)
    return json.loads(data[8:]), descriptors
def ready(torch='2.13.0'):
    send(channel, type='ready', environment=dict(python='3.11.9', pythonMinor=11, implementation='CPython',
        executable='/rogue', torch=torch, cxx11Abi=True, pythonTag='rogue', includeDirs=[], libraryDirs=[],
        environmentRoots=['/rogue']))
def warm():
    ready()
    receive()
    send(channel, type='agentLoaded')
def fork_run(child):
    message, descriptors = receive()
    process = os.fork()
    if process == 0:
        os.setpgid(0, 0)
        channel.close()
        run = socket.socket(fileno=descriptors[0])
        os.dup2(descriptors[1], 1)
        os.close(descriptors[1])
        note('child')
        child(run)
        os._exit(0)
    for descriptor in descriptors:
        os.close(descriptor)
    try:
        os.setpgid(process, process)
    except OSError:
        pass
    send(channel, type='started', id=message['id'], pid=process, parent=os.getpid())
    note('told')
    _, status = os.waitpid(process, 0)
    send(channel, type='exited', id=message['id'], status=status)
def record(run, size=32):
    recording = open(FOLDER + '/recording', 'rb').read()
    send(run, type='recording', batchSize=size, bytes=len(recording), check=False, warmupNs=[9e6, 3e6, 2e6])
    half = len(recording) // 2
    run.sendall(frame(2, recording[:half]) + frame(2, recording[half:]))
def result(run, final):
    send(run, type='result', final=final, batchSize=32, threads=2, threadSettings=[], lowMHz=0, highMHz=0, inPlaceOf='',
         device=dict(kind='', name='', memoryBytes=0, availableBytes=0, allocatorConf='', memoryFraction=1), warnings=[],
         unusedGradients=[], code=[], importedFiles=[], importedFilesComplete=True)
def recorded(run):
    send(run, type='progress', stage='record', fraction=0.5, message='half')
    record(run)
    result(run, final=False)
def good(run):
    recorded(run)
    send(run, type='timed', batchSize=32, timesNs=[1e6])
    result(run, final=True)
)";

/// A real interpreter to run the scripts with: not a shim, which would make every start slow.
inline std::string python() {
  static const std::string path = [] {
    const char* given = std::getenv("RIDGELINE_PYTHON");
    if (given != nullptr) {
      return std::string(given);
    }
    std::string text;
    std::array<char, 256> chunk{};
    FILE* pipe = ::popen("python3 -c 'import sys; print(sys.executable)' 2>/dev/null", "r");
    while (pipe != nullptr) {
      if (std::fgets(chunk.data(), static_cast<int>(chunk.size()), pipe) != nullptr) {
        text += chunk.data();
      } else if (errno == EINTR && std::feof(pipe) == 0) {
        std::clearerr(pipe);  // a child of another test ended
      } else {
        break;
      }
    }
    if (pipe != nullptr) {
      ::pclose(pipe);
    }
    return text.substr(0, text.find('\n'));
  }();
  return path;
}

/// A worker whose interpreter is a script, and every event of its runs.
class RogueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (python().empty()) {
      GTEST_SKIP() << "there is no python3 to write a rogue interpreter in";
    }
    std::ofstream(folder_ / "recording", std::ios::binary) << recording::serialise(recording::testing::small_columns());
    protocol::WorkerEnvironment environment;
    environment.torch = "2.13.0";
    environment.python_tag = "rogue";
    agent_ = agent_path(cache_.path().string(), environment);
    fs::create_directories(fs::path(agent_).parent_path());
    std::ofstream(agent_) << "not loaded by a rogue";
    ASSERT_FALSE(write_identity(agent_));
  }
  void TearDown() override {
    worker_.reset();
    EXPECT_TRUE(run_until(loop_, [] { return living_children().empty(); }));
    EXPECT_LE(finished_.size(), static_cast<std::size_t>(runs_)) << "a run ends once";
  }

  void interpreter(const std::string& path) {
    worker_.emplace(loop_, reaper_, WorkerOptions{path, cache_.path().string()});
  }
  /// A worker whose interpreter is this Python script.
  void script(std::string_view body) {
    interpreter(folder_.program("interpreter", "#!" + python() + " -IS\nFOLDER = '" + folder_.path().string() + "'" +
                                                   std::string(kPrelude) + std::string(body)));
  }
  void shell(std::string_view body) { interpreter(folder_.program("interpreter", "#!/bin/sh\n" + std::string(body))); }

  void begin(RunLimits limits = {}) {
    ++runs_;
    worker_->run({"/project/entry.py", "/project", {32}, 1, 0, {}}, limits, [this](Event event) {
      if (auto* finished = std::get_if<Finished>(&event)) {
        finished_.push_back(std::move(*finished));
      } else {
        stages_.push_back(std::get<protocol::Progress>(event).stage);
      }
    });
  }
  /// Waits for the end of the run that was begun last, and for what may still come after it.
  const Finished& finish() {
    const auto wanted = static_cast<std::size_t>(runs_);
    if (!run_until(loop_, [&] { return finished_.size() >= wanted; })) {
      ADD_FAILURE() << "the run does not end";
      finished_.resize(wanted);
    }
    loop_.poll();
    EXPECT_EQ(finished_.size(), wanted) << "a run ends once";
    EXPECT_FALSE(worker_->running());
    return finished_.back();
  }
  /// The one warning of a run that ended too early and is reported all the same.
  std::string warning_of(const Finished& finished) {
    const auto* output = std::get_if<RunOutput>(&finished.outcome);
    if (output == nullptr || output->result.warnings.size() != 1) {
      ADD_FAILURE() << "no report with a warning, but " << failure_of(finished).message;
      return "";
    }
    return output->result.warnings[0];
  }
  protocol::Failure failure_of(const Finished& finished) {
    const auto* failure = std::get_if<protocol::Failure>(&finished.outcome);
    EXPECT_NE(failure, nullptr) << "the run succeeded";
    return failure == nullptr ? protocol::Failure() : *failure;
  }
  /// Runs once; the failure it ends with.
  protocol::Failure run_to_failure(RunLimits limits = {}) {
    begin(limits);
    return failure_of(finish());
  }

  /// Waits for a script to say that it got there.
  pid_t noted(std::string_view name) {
    EXPECT_TRUE(run_until(loop_, [&] { return process_in(folder_ / name).has_value(); })) << name;
    return process_in(folder_ / name).value_or(0);
  }
  void expect_gone(pid_t process) {
    EXPECT_TRUE(run_until(loop_, [&] { return is_gone(process); })) << process << " is still there";
  }

  TemporaryFolder folder_;
  TemporaryFolder cache_;
  std::string agent_;
  boost::asio::io_context loop_;
  Reaper reaper_{loop_};
  std::optional<Worker> worker_;
  int runs_ = 0;
  std::vector<Finished> finished_;
  std::vector<std::string> stages_;
};

}  // namespace ridgeline::worker::testing
