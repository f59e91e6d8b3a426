#include "worker/run.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <exception>
#include <utility>

#include "worker/stack_dump.h"

namespace ridgeline::worker {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using protocol::FailureKind;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kTermGrace{100};
constexpr milliseconds kKillGrace{80};
/// The share of what is left of the time limit that timing the chosen batch sizes may take.
constexpr double kShareOfLimit = 0.5;
/// A run is stopped after this many times the time within which it is to end.
constexpr double kMostOfFinish = 2;
/// CHANNEL_LOST of profiler/runner/ridgeline_runner/session.py.
constexpr int kChannelLost = 71;

std::string seconds_text(milliseconds duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(duration).count()) + " s";
}

}  // namespace

Run::Channel::Channel(asio::io_context& loop, Descriptor socket_end, Descriptor output_end)
    : socket(loop, stream_protocol(), socket_end.release()),
      output(std::make_shared<OutputCapture>(loop, std::move(output_end))) {
  output->start();
}

Run::Run(asio::io_context& loop, int id, RunRequest request, RunOwner& owner)
    : loop_(loop),
      id_(id),
      request_(std::move(request)),
      owner_(owner),
      inbox_(request_.limits.recording_bytes, *this),
      limit_timer_(loop),
      kill_timer_(loop),
      watch_timer_(loop),
      answer_timer_(loop) {
  end_after(request_.limits.time, " Raise --timeout if it needs longer.");
}

void Run::end_after(std::chrono::milliseconds time, const std::string& advice) {
  limit_timer_.expires_after(time);
  limit_timer_.async_wait(lifetime_.guard([this, time, advice](const auto& error) {
    if (!error) {
      fail(FailureKind::kTimeout,
           "The profile was stopped after " + seconds_text(time) + ", while it did this: " + doing_ + "." + advice);
    }
  }));
}

Run::~Run() { signal(SIGKILL); }

void Run::report(const protocol::Progress& progress) {
  stage_ = progress.stage;
  doing_ = progress.message;
  request_.handler(progress);
}

void Run::cancel() {
  asio::post(loop_, lifetime_.guard([this] { fail(FailureKind::kCancelled, "The profile was cancelled."); }));
}

// The process -----------------------------------------------------------------------------------------------------

void Run::signal(int number) const {
  if (process_ != 0) {
    signal_group(process_, number);
  }
}

void Run::start(ForkServer& server) {
  if (!request_.spec.has_value()) {
    finish(ForkServerReady{});
    return;
  }
  auto [ours, theirs] = socket_pair();
  auto [output_read, output_write] = pipe_pair();
  if (ours.get() < 0 || output_read.get() < 0) {
    fail(FailureKind::kResources, "The daemon has no file descriptors left for a run.");
    return;
  }
  if (!server.fork(id_, *request_.spec, theirs, output_write)) {
    report_fork_server_lost("The worker does not answer.");
    return;
  }
  channel_ = std::make_unique<Channel>(loop_, std::move(ours), std::move(output_read));
  state_ = Forking{};
  read_channel();
  expect_answer(has_second_fork_server_ ? request_.limits.answer : request_.limits.begin);
}

bool Run::begin_again() {
  const bool is_forked = !std::holds_alternative<Idle>(state_) && !std::holds_alternative<Forking>(state_);
  if (is_forked || failure_.has_value() || std::exchange(has_second_fork_server_, true)) {
    return false;
  }
  answer_timer_.cancel();
  channel_.reset();
  state_ = Idle{};
  return true;
}

void Run::started(pid_t process, pid_t parent) {
  if (channel_ != nullptr && channel_->is_open) {
    answer_timer_.cancel();  // else it waits for the end
  }
  if (!std::holds_alternative<Forking>(state_) && !std::holds_alternative<Ending>(state_)) {
    return;
  }
  process_ = process;
  if (failure_.has_value()) {
    end_process();
  } else {
    if (const double seconds = request_.spec->finish_within_seconds; seconds > 0) {
      // The runner ends by itself, unless one iteration takes longer.
      const milliseconds time(static_cast<std::int64_t>(1000 * kMostOfFinish * seconds));
      end_after(std::min(time, request_.limits.time), "");
    }
    state_ = Alive{RunWatch(parent)};
    watch_process();
  }
}

void Run::exited(const protocol::Exited& exited) {
  state_ = Ended{exited.status};
  if (!exited.too_many.empty() && !failure_.has_value()) {
    failure_ = protocol::failure_of(
        FailureKind::kTooManyProcesses, stage_,
        "The profiled code started " + exited.too_many + " and was stopped. Look for a loop that starts them.");
  }
  finish_when_over();
}

void Run::end_without_fork_server(protocol::Failure failure) {
  if (channel_ != nullptr && !std::holds_alternative<Ended>(state_)) {
    signal(SIGKILL);
    state_ = Ended{SIGKILL};
  }
  fail(std::move(failure));
}

void Run::fail(protocol::Failure failure) {
  if (failure.stage.empty()) {
    failure.stage = stage_;
  }
  if (!failure_.has_value() || failure.kind == FailureKind::kCancelled) {
    failure_ = std::move(failure);
  }
  if (channel_ == nullptr || std::holds_alternative<Ended>(state_)) {
    finish_when_over();
  } else if (!std::holds_alternative<Ending>(state_)) {
    end_process();
  }
}

/// A process that the fork server has not reported yet is ended when it does.
void Run::end_process() {
  state_ = Ending{};
  signal(SIGTERM);
  kill_timer_.expires_after(kTermGrace);
  kill_timer_.async_wait(lifetime_.guard([this](const auto& error) {
    if (error) {
      return;
    }
    signal(SIGKILL);
    kill_timer_.expires_after(kKillGrace);
    kill_timer_.async_wait(lifetime_.guard([this](const auto& late) {
      if (!late) {
        abandoned_ = true;
        state_ = Ended{SIGKILL};
        finish_when_over();
      }
    }));
  }));
}

/// Ends the run as soon as the system shows that it cannot end by itself, instead of at its time limit.
void Run::watch_process() {
  watch_timer_.expires_after(kWatchInterval);
  watch_timer_.async_wait(lifetime_.guard([this](const auto& error) {
    auto* alive = std::get_if<Alive>(&state_);
    if (error || alive == nullptr || failure_.has_value() || inbox_.has_final_result()) {
      return;  // it ended, or is about to
    }
    if (const auto end = alive->watch.look(process_, channel_->is_open)) {
      fail(*end);
    } else {
      watch_process();
    }
  }));
}

// What it sends ---------------------------------------------------------------------------------------------------

void Run::read_channel() {
  const auto on_read = [this, alive = channel_->lifetime.watch()](const auto& error, std::size_t count) {
    if (error == asio::error::operation_aborted) {
      return;
    }
    if (error) {
      channel_closed();
      return;
    }
    if (!failure_.has_value()) {  // else what still comes is of no interest
      if (auto broken = inbox_.feed({channel_->buffer.data(), count})) {
        fail(std::move(*broken));
      } else {
        failure_ = inbox_.runner_failure();
      }
    }
    if (!alive.expired()) {
      read_channel();
    }
  };
  channel_->socket.async_read_some(asio::buffer(channel_->buffer), channel_->lifetime.guard(on_read));
}

void Run::channel_closed() {
  channel_->is_open = false;
  expect_answer(request_.limits.answer);  // unless the process ends now
  finish_when_over();
}

void Run::expect_answer(milliseconds patience) {
  answer_timer_.expires_after(patience);
  answer_timer_.async_wait(channel_->lifetime.guard([this, patience](const auto& error) {
    if (!error) {
      report_fork_server_lost("The worker said nothing for " + seconds_text(patience) +
                              ", and was ended. Profile again.");
    }
  }));
}

void Run::report_fork_server_lost(const std::string& message) const {
  owner_.on_fork_server_lost(protocol::failure_of(FailureKind::kWorkerDied, "", message));
}

/// The runner waits for the answer, and goes on without one when it cannot be written.
void Run::on_sizes_asked(const protocol::SizesAsked& asked) {
  if (!request_.chooser.choose) {
    answer(protocol::chosen_message({}));
    return;
  }
  ChoiceAsked choice{asked, "", {}};
  const std::chrono::duration<double> until_limit = limit_timer_.expiry() - std::chrono::steady_clock::now();
  choice.seconds_left = std::min(asked.seconds_left, kShareOfLimit * until_limit.count());
  if (const protocol::RunDevice* device = inbox_.device()) {
    choice.device = device->kind;
  }
  for (const MeasuredBatch& batch : inbox_.batches()) {
    if (!batch.check && batch.recording != nullptr) {
      choice.recorded.push_back({batch.batch_size, false, {}, {}, 1, batch.recording});
    }
  }
  const auto chosen =
      lifetime_.guard([this](const std::vector<int>& sizes) { answer(protocol::chosen_message(sizes)); });
  asio::post(request_.chooser.executor,
             [choice = std::move(choice), choose = request_.chooser.choose, &loop = loop_, chosen] {
               std::vector<int> sizes;
               try {
                 sizes = choose(choice);
               } catch (const std::exception&) {
                 // No memory, say. On a thread of a pool it would end the daemon; the run does without more sizes.
               }
               asio::post(loop, [chosen, sizes = std::move(sizes)] { chosen(sizes); });
             });
}

void Run::on_first_figures() {
  if (!request_.spec->first_figures || std::exchange(has_offered_figures_, true)) {
    return;  // the channel's other end is not to be trusted
  }
  const auto go_on = lifetime_.guard([this] { answer(protocol::shown_message()); });
  if (auto measured = inbox_.first_measured()) {
    request_.handler(FirstFigures{{std::move(*measured), environment_.value_or(protocol::WorkerEnvironment{})}, go_on});
  } else {
    go_on();
  }
}

void Run::answer(std::string_view message) {
  const auto frame = std::make_shared<std::string>(protocol::encode_message(message));
  asio::async_write(channel_->socket, asio::buffer(*frame), [frame](const auto& /*error*/, std::size_t /*count*/) {});
}

// Its end ---------------------------------------------------------------------------------------------------------

/// It is over when its process is gone and its channel is read to the end, or when it never began.
void Run::finish_when_over() {
  const auto* ended = std::get_if<Ended>(&state_);
  if (channel_ != nullptr && (ended == nullptr || (channel_->is_open && !failure_.has_value()))) {
    return;  // the last messages are still on their way
  }
  if (failure_.has_value()) {
    finish_early(std::move(*failure_));
  } else if (ended->status == W_EXITCODE(kChannelLost, 0)) {
    const protocol::Failure broken = channel_broken("it was closed");
    finish_early(protocol::failure_of(broken.kind, stage_, broken.message));
  } else if (ended->status != 0 || !inbox_.has_final_result()) {
    finish_early(protocol::failure_of(FailureKind::kProcessDied, stage_,
                                      "The profiled process " + describe_end(ended->status) + "."));
  } else if (is_experiment()) {
    finish(inbox_.take_findings());
  } else if (std::optional<Measured> measured = inbox_.take_measured()) {
    finish(RunOutput{std::move(*measured), environment_.value_or(protocol::WorkerEnvironment{})});
  } else {
    finish(protocol::failure_of(FailureKind::kWorkerProtocol, stage_,
                                "The worker sent a result without its measurements."));
  }
}

/// The run did not end well: its figures are those measured until then, where they are enough for a profile.
void Run::finish_early(protocol::Failure failure) {
  if (failure.kind == FailureKind::kTimeout && channel_ != nullptr) {
    std::string output = channel_->output->tail();
    failure.frames = take_stack_dump(output);
  }
  if (failure.kind != FailureKind::kCancelled && is_experiment()) {
    ExperimentFindings findings = inbox_.take_findings();
    findings.ended_early = failure;
    if (!findings.times.empty() || !findings.tried.empty() || findings.fatal_operation.has_value()) {
      finish(std::move(findings));
      return;
    }
  } else if (failure.kind != FailureKind::kCancelled && request_.spec.has_value()) {
    if (std::optional<Measured> measured = inbox_.take_measured_until(failure, request_.spec->project_root)) {
      finish(RunOutput{std::move(*measured), environment_.value_or(protocol::WorkerEnvironment{})});
      return;
    }
  }
  finish(std::move(failure));
}

void Run::finish(Outcome outcome) {
  signal(SIGKILL);  // what it left behind
  std::string output = channel_ == nullptr ? "" : channel_->output->tail();
  take_stack_dump(output);  // nothing that the user's code wrote
  process_ = 0;
  std::optional<FailedStep> failed_step = inbox_.take_out_of_memory();
  owner_.on_run_finished({std::move(outcome), std::move(output), std::move(environment_), std::move(failed_step)});
}

}  // namespace ridgeline::worker
