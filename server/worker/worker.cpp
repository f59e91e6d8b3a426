#include "worker/worker.h"

#include <signal.h>

#include <utility>

namespace ridgeline::worker {

namespace asio = boost::asio;
using protocol::FailureKind;

Worker::Worker(asio::io_context& loop, Reaper& reaper, WorkerOptions options)
    : loop_(loop), reaper_(reaper), options_(std::move(options)) {}

Worker::~Worker() {
  run_.reset();
  if (fork_server_ && fork_server_->is_ready()) {
    fork_server_->close();
  }
}

void Worker::run(protocol::RunSpec spec, RunLimits limits, EventHandler handler, Chooser chooser) {
  begin({std::move(spec), limits, std::move(handler), std::move(chooser)});
}

void Worker::warm_up(RunLimits limits, EventHandler handler) { begin({std::nullopt, limits, std::move(handler), {}}); }

void Worker::cancel() {
  if (run_) {
    run_->cancel();
  }
}

void Worker::begin(RunRequest request) {
  RunOwner& owner = *this;
  run_ = std::make_unique<Run>(loop_, ++runs_, std::move(request), owner);
  if (fork_server_ && fork_server_->has_abandoned_run()) {
    fork_server_.reset();  // it would not answer this one either
  }
  if (!fork_server_) {
    start_fork_server();
    return;
  }
  if (const auto& environment = fork_server_->environment()) {
    run_->set_environment(*environment);
  }
  if (fork_server_->is_ready()) {
    run_->start(*fork_server_);
  }
}

void Worker::start_fork_server() {
  run_->report({"start", 0, "Starting " + options_.interpreter});
  auto started = ForkServer::start(loop_, reaper_, options_, *this);
  if (!started) {
    run_->fail(started.error());
    return;
  }
  fork_server_ = std::move(*started);
  run_->report({"start", 0, "Importing torch"});
}

void Worker::on_fork_server_event(const ForkServerEvent& event) {
  if (const auto* end = std::get_if<ForkServerEnded>(&event)) {
    on_fork_server_ended(*end);
  } else if (const auto* started = std::get_if<protocol::Started>(&event)) {
    if (run_ && run_->id() == started->run) {
      run_->started(started->pid, started->parent);
    } else {
      signal_group(started->pid, SIGKILL);  // of a run that was given up before it began
    }
  } else if (!run_) {
    return;
  } else if (const auto* progress = std::get_if<protocol::Progress>(&event)) {
    run_->report(*progress);
  } else if (const auto* environment = std::get_if<protocol::WorkerEnvironment>(&event)) {
    run_->set_environment(*environment);
  } else if (std::holds_alternative<ForkServerReady>(event)) {
    run_->start(*fork_server_);
  } else if (const auto* exited = std::get_if<protocol::Exited>(&event); run_->id() == exited->run) {
    run_->exited(*exited);
  }
}

void Worker::on_fork_server_ended(const ForkServerEnded& end) {
  if (end.was_ready && run_) {
    replace_fork_server(end.failure);
    return;
  }
  fork_server_.reset();
  if (run_) {
    run_->end_without_fork_server(end.failure);
  }
}

/// The run goes on with another parent where nothing of it had begun.
void Worker::replace_fork_server(const protocol::Failure& why) {
  fork_server_.reset();
  if (run_->begin_again()) {
    start_fork_server();
  } else {
    run_->end_without_fork_server(why);
  }
}

void Worker::on_run_finished(Finished finished) {
  const std::unique_ptr<Run> run = std::move(run_);
  if (fork_server_ && run->is_abandoned()) {
    fork_server_->abandon(run->id());
  }
  const auto* failure = std::get_if<protocol::Failure>(&finished.outcome);
  if (fork_server_ && !fork_server_->is_ready() && failure != nullptr) {
    // A build is of no use to anyone else yet, and what hangs in its start stays there.
    if (fork_server_->is_building() || failure->kind == FailureKind::kTimeout) {
      fork_server_.reset();
    }
  }
  run->handler()(std::move(finished));
}

}  // namespace ridgeline::worker
