// A worker: the user's interpreter with torch loaded, and the runs that it forks.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>

#include "worker/fork_server.h"
#include "worker/process.h"
#include "worker/run.h"

namespace ridgeline::worker {

/// One fork server and at most one run at a time. Lives on the loop; no call blocks. Whatever the interpreter or the
/// user's code does (crash, hang, send garbage, vanish), every run ends with exactly one Finished. Destroying it ends
/// every process it made.
class Worker final : private RunOwner, private ForkServerListener {
 public:
  Worker(boost::asio::io_context& loop, Reaper& reaper, WorkerOptions options);
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Starts a run; starts the interpreter and builds the agent first where that is still to be done. `handler` gets
  /// progress and then one Finished. Without `choose`, only what the runner chooses itself is timed. Call only while no
  /// run is going on.
  void run(protocol::RunSpec spec, RunLimits limits, EventHandler handler, Chooser chooser = {});
  /// Does all that comes before a run, and runs nothing of the user's. Finished holds ForkServerReady, or what went
  /// wrong.
  void warm_up(RunLimits limits, EventHandler handler);
  /// Ends the run: SIGTERM to its process group at once, SIGKILL after 100 ms. Finished follows within 200 ms, as a
  /// Failure of kind "cancelled". The fork server survives a cancelled run. Nothing happens when there is no run.
  void cancel();
  bool running() const { return run_ != nullptr; }
  pid_t parent_process() const { return fork_server_ ? fork_server_->process() : 0; }

 private:
  void begin(RunRequest request);
  void start_fork_server();
  void on_fork_server_event(const ForkServerEvent& event) override;
  void on_fork_server_ended(const ForkServerEnded& end);
  void on_fork_server_lost(const protocol::Failure& why) override { replace_fork_server(why); }
  void replace_fork_server(const protocol::Failure& why);
  void on_run_finished(Finished finished) override;

  boost::asio::io_context& loop_;
  Reaper& reaper_;
  WorkerOptions options_;
  std::unique_ptr<ForkServer> fork_server_;
  std::unique_ptr<Run> run_;
  int runs_ = 0;
};

}  // namespace ridgeline::worker
