// A worker: the user's interpreter, warm, and the runs that it forks.
//
// All of it lives on one asio loop, the daemon's; no call blocks. What happens is told as events. Whatever the worker
// does (crash, hang, write garbage, vanish), every run ends with exactly one Finished.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/lifetime.h"
#include "protocol/worker_frame.h"
#include "protocol/worker_messages.h"
#include "worker/agent_build.h"
#include "worker/output_capture.h"
#include "worker/process.h"
#include "worker/run_inbox.h"

namespace ridgeline::worker {

/// A run that measured at least the user's batch size. One that ended too early after that has a warning about it.
struct RunOutput : Measured {
  protocol::WorkerEnvironment environment;
};

/// The worker is warm: torch and the agent are loaded.
struct Warm {};

/// The end of a run, and what user code wrote while it ran: the last 64 KiB.
struct Finished {
  std::variant<RunOutput, Warm, protocol::Failure> outcome;
  std::string output;
  /// What the interpreter told of itself, also before a failure. Without torch, only its Python is known.
  std::optional<protocol::WorkerEnvironment> environment;
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

using Event = std::variant<protocol::Progress, Finished>;

struct WorkerOptions {
  std::string interpreter;  ///< absolute
  std::string cache;        ///< cache_folder()
};

struct RunLimits {
  std::chrono::milliseconds time{std::chrono::minutes(10)};
  /// For a parent that is warm to tell that a process has begun, before another parent gets the run.
  std::chrono::milliseconds begin{std::chrono::seconds(5)};
  /// For the other parent to tell so, and for any to tell that a process which let go of its channel has ended.
  std::chrono::milliseconds answer{std::chrono::seconds(30)};
  std::uint64_t recording_bytes = std::uint64_t{2} << 30U;
};

/// One warm parent and at most one run at a time. Destroying it ends every process it made.
class Worker {
 public:
  Worker(boost::asio::io_context& loop, Reaper& reaper, WorkerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Starts a run; starts the interpreter and builds the agent first where that is still to be done. `handler` gets
  /// progress and then one Finished. Without `choose`, only what the runner chooses itself is timed. Call only while no
  /// run is going on.
  void run(protocol::RunSpec spec, RunLimits limits, std::function<void(Event)> handler, Chooser chooser = {});
  /// Does all that comes before a run, and runs nothing of the user's. Finished holds Warm, or what went wrong.
  void warm_up(RunLimits limits, std::function<void(Event)> handler);
  /// Ends the run: SIGTERM to its process group at once, SIGKILL after 100 ms. Finished follows within 200 ms, as a
  /// Failure of kind "cancelled". The warm parent survives a cancelled run. Nothing happens when there is no run.
  void cancel();
  bool running() const { return run_ != nullptr; }
  pid_t parent_process() const { return parent_; }

 private:
  struct Run;
  enum class State { kStopped, kStarting, kBuilding, kLoading, kWarm };

  void begin(std::optional<protocol::RunSpec> spec, RunLimits limits, std::function<void(Event)> handler,
             Chooser chooser);
  void choose_sizes(const protocol::SizesAsked& asked);
  void answer_choice(const std::vector<int>& sizes);
  void start_parent();
  void stop_parent();
  void read_control();
  void read_rest_of_control();
  void handle_control_bytes(std::string_view bytes);
  bool is_expected(const protocol::WorkerMessage& message) const;
  void handle_control(protocol::WorkerMessage message);
  void on_ready(const protocol::Ready& ready);
  void build_agent();
  void load_agent();
  void start_run();
  void read_channel();
  void parent_ended(int status);
  bool begin_again();
  void maybe_finish();
  void finish_early(protocol::Failure failure);
  void finish(std::variant<RunOutput, Warm, protocol::Failure> outcome);
  void fail(protocol::FailureKind kind, const std::string& stage, const std::string& message);
  void watch_run();
  void kill_run();
  void expect_an_answer(std::chrono::milliseconds patience);
  /// `action`, which does nothing once this run, or the parent that it was begun with, is gone.
  template <typename Action>
  auto guard_run_and_parent(Action action) const;
  void progress(const std::string& stage, double fraction, const std::string& message);

  boost::asio::io_context& loop_;
  Reaper& reaper_;
  WorkerOptions options_;
  AgentBuilder builder_;
  State state_ = State::kStopped;
  pid_t parent_ = 0;
  std::optional<base::Lifetime> parent_lifetime_;  ///< what an older parent still sends is ignored
  std::string sources_;
  std::optional<protocol::WorkerEnvironment> environment_;
  std::unique_ptr<boost::asio::local::stream_protocol::socket> control_;
  protocol::FrameDecoder control_frames_;
  std::shared_ptr<OutputCapture> parent_output_;
  std::unique_ptr<Run> run_;
  int runs_ = 0;
  boost::asio::steady_timer kill_timer_;
  boost::asio::steady_timer limit_timer_;
  boost::asio::steady_timer watch_timer_;
  boost::asio::steady_timer answer_timer_;
  std::optional<int> owed_;  ///< a run that was given up, of whose end the parent has not told
};

}  // namespace ridgeline::worker
