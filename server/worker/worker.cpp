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
  if (parent_ && parent_->is_warm()) {
    parent_->close();
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
  if (parent_ && parent_->owes_answer()) {
    parent_.reset();  // it would not answer this one either
  }
  if (!parent_) {
    start_parent();
    return;
  }
  if (const auto& environment = parent_->environment()) {
    run_->set_environment(*environment);
  }
  if (parent_->is_warm()) {
    run_->start(*parent_);
  }
}

void Worker::start_parent() {
  run_->report({"start", 0, "Starting " + options_.interpreter});
  auto started = WarmParent::start(loop_, reaper_, options_, *this);
  if (!started) {
    run_->fail(started.error());
    return;
  }
  parent_ = std::move(*started);
  run_->report({"start", 0, "Importing torch"});
}

void Worker::on_parent_event(const ParentEvent& event) {
  if (const auto* end = std::get_if<ParentEnded>(&event)) {
    on_parent_ended(*end);
  } else if (const auto* started = std::get_if<protocol::Started>(&event)) {
    if (run_ && run_->id() == started->run) {
      run_->started(started->pid, parent_->process());
    } else {
      signal_group(started->pid, SIGKILL);  // of a run that was given up before it began
    }
  } else if (!run_) {
    return;
  } else if (const auto* progress = std::get_if<protocol::Progress>(&event)) {
    run_->report(*progress);
  } else if (const auto* environment = std::get_if<protocol::WorkerEnvironment>(&event)) {
    run_->set_environment(*environment);
  } else if (std::holds_alternative<Warm>(event)) {
    run_->start(*parent_);
  } else if (const auto* exited = std::get_if<protocol::Exited>(&event); run_->id() == exited->run) {
    run_->exited(*exited);
  }
}

void Worker::on_parent_ended(const ParentEnded& end) {
  if (end.was_warm && run_) {
    replace_parent(end.failure);
    return;
  }
  parent_.reset();
  if (run_) {
    run_->end_without_parent(end.failure);
  }
}

/// The run goes on with another parent where nothing of it had begun.
void Worker::replace_parent(const protocol::Failure& why) {
  parent_.reset();
  if (run_->begin_again()) {
    start_parent();
  } else {
    run_->end_without_parent(why);
  }
}

void Worker::on_run_finished(Finished finished) {
  const std::unique_ptr<Run> run = std::move(run_);
  if (parent_ && run->is_abandoned()) {
    parent_->give_up(run->id());
  }
  const auto* failure = std::get_if<protocol::Failure>(&finished.outcome);
  if (parent_ && !parent_->is_warm() && failure != nullptr) {
    // A build is of no use to anyone else yet, and what hangs in its start stays there.
    if (parent_->is_building() || failure->kind == FailureKind::kTimeout) {
      parent_.reset();
    }
  }
  run->handler()(std::move(finished));
}

}  // namespace ridgeline::worker
