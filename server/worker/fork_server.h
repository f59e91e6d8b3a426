// The fork server: the user's interpreter with torch and the agent loaded, which forks a process for every run.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/lifetime.h"
#include "base/result.h"
#include "protocol/worker_frame.h"
#include "protocol/worker_messages.h"
#include "worker/agent_build.h"
#include "worker/output_capture.h"
#include "worker/process.h"

namespace ridgeline::worker {

struct WorkerOptions {
  std::string interpreter;  ///< absolute
  std::string cache;        ///< cache_folder()
};

/// The fork server can fork: torch and the agent are loaded.
struct ForkServerReady {};

/// The fork server has ended, or is of no use. The last event.
struct ForkServerEnded {
  protocol::Failure failure;  ///< without a stage when it ended in the middle of whatever went on
  bool was_ready = false;     ///< the process ended by itself, or something else ended it, after it was ready
};

/// In their order: the environment once Python has reported it, ForkServerReady, then what it reports of the runs.
using ForkServerEvent = std::variant<protocol::Progress, protocol::WorkerEnvironment, ForkServerReady,
                                     protocol::Started, protocol::Exited, ForkServerEnded>;

class ForkServerListener {
 public:
  virtual ~ForkServerListener() = default;
  /// May destroy the fork server, unless the event is Progress or the environment.
  virtual void on_fork_server_event(const ForkServerEvent& event) = 0;
};

/// One interpreter from its start to its end; another one is another ForkServer. Lives on the loop; no call blocks.
/// Destroying it kills the process.
class ForkServer final : private AgentBuildListener {
 public:
  /// Starts the interpreter, which then imports torch; the agent is built first if the cache has none. The
  /// listener, which outlives the fork server, gets the events, none of them from within this call.
  static base::Result<std::unique_ptr<ForkServer>, protocol::Failure> start(boost::asio::io_context& loop,
                                                                            Reaper& reaper,
                                                                            const WorkerOptions& options,
                                                                            ForkServerListener& listener);
  ~ForkServer() override;
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;

  /// Asks it to fork a process for run number `run`, with these descriptors as its channel and its output. Started
  /// follows, then Exited. False when the interpreter is gone. Call only when it is ready.
  bool fork(int run, protocol::RunSpec spec, const Descriptor& channel, const Descriptor& output);
  /// The run was abandoned before its process was seen to end: Exited is still to come.
  void abandon(int run) { abandoned_run_ = run; }
  /// Whether the end of an abandoned run has not been reported yet: the fork server may itself hang.
  bool has_abandoned_run() const { return abandoned_run_.has_value(); }
  /// Lets it end by itself, and first whatever the runs left behind. Waits for that; at most 12 s.
  void close();

  pid_t process() const { return process_; }
  bool is_ready() const { return std::holds_alternative<ForkServerReady>(state_); }
  bool is_building() const { return std::holds_alternative<Building>(state_); }
  /// Nothing until Python has reported it. Without torch, only its Python is known.
  const std::optional<protocol::WorkerEnvironment>& environment() const { return environment_; }

 private:
  struct Starting {};  ///< Python and torch
  struct Building {};  ///< the agent
  struct Loading {};   ///< the agent

  ForkServer(boost::asio::io_context& loop, Reaper& reaper, WorkerOptions options, std::string sources,
             ForkServerListener& listener);
  base::Result<void, protocol::Failure> spawn_interpreter();
  void read();
  void read_rest();
  void handle_bytes(std::string_view bytes);
  bool is_expected(const protocol::WorkerMessage& message) const;
  void handle_message(const protocol::WorkerMessage& message);
  void on_ready(const protocol::Ready& ready);
  void on_unusable(const protocol::Unusable& unusable);
  void on_agent_refused(const protocol::AgentRefused& refused);
  void build_agent();
  void on_build_progress(double fraction) override;
  void on_build_end(const std::optional<protocol::Failure>& failure) override;
  void load_agent();
  void on_process_ended(int status);
  void emit(const ForkServerEvent& event) const;
  void end(protocol::FailureKind kind, const std::string& stage, const std::string& message) const;

  boost::asio::io_context& loop_;
  Reaper& reaper_;
  WorkerOptions options_;
  std::string sources_;  ///< of the runner and the agent, unpacked
  ForkServerListener& listener_;
  std::variant<Starting, Building, Loading, ForkServerReady> state_;
  AgentBuilder builder_;
  pid_t process_ = 0;
  std::optional<protocol::WorkerEnvironment> environment_;
  std::unique_ptr<boost::asio::local::stream_protocol::socket> control_;
  protocol::FrameDecoder frames_;
  std::shared_ptr<OutputCapture> output_;
  std::optional<int> abandoned_run_;
  bool is_sending_ = false;  ///< the rest of a long message
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::worker
