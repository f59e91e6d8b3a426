// One run: the process that the fork server forks for it, what it sends, and its end.
#pragma once

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/lifetime.h"
#include "protocol/worker_messages.h"
#include "worker/fork_server.h"
#include "worker/output_capture.h"
#include "worker/run_inbox.h"
#include "worker/run_watch.h"

namespace ridgeline::worker {

/// A run that measured at least the user's batch size. One that ended too early after that has a warning about it.
struct RunOutput : Measured {
  protocol::WorkerEnvironment environment;
};

/// How a run ended. ExperimentFindings: of a run whose spec is an experiment; where it ended too early, what was found
/// until then.
using Outcome = std::variant<RunOutput, ForkServerReady, protocol::Failure, ExperimentFindings>;

/// The end of a run, and what user code wrote while it ran: the last 64 KiB.
struct Finished {
  Outcome outcome;
  std::string output;
  /// What the interpreter reported of itself, also before a failure. Without torch, only its Python is known.
  std::optional<protocol::WorkerEnvironment> environment;
  std::optional<FailedStep> out_of_memory{};  ///< of a run that failed
};

/// What is known when the next batch sizes are to be chosen.
struct ChoiceAsked : protocol::SizesAsked {
  std::string device;                   ///< the kind of protocol::RunDevice; empty: the host
  std::vector<MeasuredBatch> recorded;  ///< those for the models that have a recording; without their times
};

/// Which batch sizes to time next; none: what is timed is enough. `choose` is called on `executor`, which is no loop
/// that must not wait, and calls one at a time.
struct Chooser {
  boost::asio::any_io_executor executor;
  std::function<std::vector<int>(const ChoiceAsked&)> choose;
};

/// What was measured of the user's batch size, before the others are: the runner waits for some seconds until it may
/// go on. Only where RunSpec::first_figures asks for it.
struct FirstFigures {
  RunOutput measured;
  std::function<void()> go_on;  ///< to be called once, on the loop; does nothing when the run is gone
};

using Event = std::variant<protocol::Progress, FirstFigures, Finished>;
using EventHandler = std::function<void(Event)>;

struct RunLimits {
  std::chrono::milliseconds time{std::chrono::minutes(10)};
  /// For a fork server that is ready to report that a process has begun, before another one gets the run.
  std::chrono::milliseconds begin{std::chrono::seconds(5)};
  /// For the other fork server to report so, and for any to report that a process which closed its channel has ended.
  std::chrono::milliseconds answer{std::chrono::seconds(30)};
  std::uint64_t recording_bytes = std::uint64_t{2} << 30U;
};

/// What to run, and who wants to know of it.
struct RunRequest {
  std::optional<protocol::RunSpec> spec;  ///< absent: only warm up
  RunLimits limits;
  EventHandler handler;
  Chooser chooser;  ///< without `choose`, only what the runner chooses itself is timed
};

/// Who holds a run. Each of these calls may destroy the run.
class RunOwner {
 public:
  virtual ~RunOwner() = default;
  /// The fork server has said nothing for as long as RunLimits allow, or is gone when it is asked to fork.
  virtual void on_fork_server_lost(const protocol::Failure& why) = 0;
  /// The last call; it may come from within any member function of the run.
  virtual void on_run_finished(Finished finished) = 0;
};

/// From the request to Finished. Lives on the loop; destroying it kills the process. The first failure stands, unless
/// the user cancels; it is reported when the process is gone.
class Run final : private RunInboxListener {
 public:
  /// The time limit begins. `id` is its number in what the fork server reports.
  Run(boost::asio::io_context& loop, int id, RunRequest request, RunOwner& owner);
  ~Run() override;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// The fork server is ready: forks from it. A run that only warms up is finished.
  void start(ForkServer& server);
  /// The fork server was gone before it had forked: whether another one may have the run. Once: something outside ended
  /// an interpreter that did nothing, which is nobody's concern.
  bool begin_again();
  /// The fork server has reported the process, or its end.
  void started(pid_t process, pid_t parent);
  void exited(const protocol::Exited& exited);
  /// The fork server is gone, and nobody is left who could report the end.
  void end_without_fork_server(protocol::Failure failure);
  /// Ends the process: SIGTERM to its group at once, SIGKILL after 100 ms. Finished follows within 200 ms. Without a
  /// stage, the failure gets that of the last progress.
  void fail(protocol::Failure failure);

  /// In place of the limit before. `advice` follows the message of the failure.
  void end_after(std::chrono::milliseconds time, const std::string& advice);
  void report(const protocol::Progress& progress);
  void set_environment(const protocol::WorkerEnvironment& environment) { environment_ = environment; }
  /// Posts fail() with kCancelled: the caller may be the run's own handler, in the middle of a step.
  void cancel();

  int id() const { return id_; }
  const EventHandler& handler() const { return request_.handler; }
  bool was_forked() const { return channel_ != nullptr; }
  /// Its end was not seen: the process may be stuck in the kernel.
  bool is_abandoned() const { return abandoned_; }

 private:
  struct Idle {};     ///< no fork server was asked to fork
  struct Forking {};  ///< the fork server has not reported the process yet
  struct Alive {
    RunWatch watch;
  };
  struct Ending {};  ///< it was told to end, or is as soon as it is reported
  struct Ended {
    int status = 0;  ///< of wait(2)
  };
  struct Channel {
    Channel(boost::asio::io_context& loop, Descriptor socket_end, Descriptor output_end);
    ~Channel() { output->close(); }
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    boost::asio::local::stream_protocol::socket socket;
    std::shared_ptr<OutputCapture> output;
    std::vector<char> buffer = std::vector<char>(std::size_t{256} << 10U);
    bool is_open = true;
    base::Lifetime lifetime;
  };

  void on_progress(const protocol::Progress& progress) override { report(progress); }
  void on_sizes_asked(const protocol::SizesAsked& asked) override;
  void on_first_figures() override;
  void fail(protocol::FailureKind kind, std::string message) {
    fail(protocol::failure_of(kind, "", std::move(message)));
  }
  void signal(int number) const;
  void end_process();
  void read_channel();
  void channel_closed();
  void expect_answer(std::chrono::milliseconds patience);
  void report_fork_server_lost(const std::string& message) const;
  void watch_process();
  void answer(std::string_view message);
  void finish_when_over();
  void finish_early(protocol::Failure failure);
  bool is_experiment() const { return request_.spec.has_value() && request_.spec->experiment.has_value(); }
  void finish(Outcome outcome);

  boost::asio::io_context& loop_;
  int id_;
  RunRequest request_;
  RunOwner& owner_;
  RunInbox inbox_;
  std::variant<Idle, Forking, Alive, Ending, Ended> state_;
  pid_t process_ = 0;                 ///< 0: not reported yet; when it has ended, its group may have something left
  std::unique_ptr<Channel> channel_;  ///< null: nothing was forked
  std::optional<protocol::Failure> failure_;  ///< decided, reported when the process is gone
  std::optional<protocol::WorkerEnvironment> environment_;
  std::string stage_ = "start";  ///< of the last progress
  std::string doing_;            ///< its message
  bool has_second_fork_server_ = false;
  bool has_offered_figures_ = false;
  bool abandoned_ = false;
  boost::asio::steady_timer limit_timer_;
  boost::asio::steady_timer kill_timer_;
  boost::asio::steady_timer watch_timer_;
  boost::asio::steady_timer answer_timer_;
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::worker
