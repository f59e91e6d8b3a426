#include "worker/worker.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <exception>
#include <filesystem>
#include <utility>

#include "worker/cache.h"
#include "worker/run_watch.h"
#include "worker/stack_dump.h"
#include "worker/versions.h"

namespace ridgeline::worker {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kTermGrace{100};
constexpr milliseconds kKillGrace{80};
/// A warm parent that is let go first ends what the runs left behind: at once, but for thousands of processes.
constexpr milliseconds kPartingGrace{12'000};
/// Of what is left of the time limit, what timing chosen batch sizes may take.
constexpr double kShareOfLimit = 0.5;
/// CHANNEL_LOST of profiler/runner/ridgeline_runner/session.py.
constexpr int kChannelLost = 71;

/// A socket of ours from a descriptor. The loop owns the descriptor from then on.
std::unique_ptr<stream_protocol::socket> adopt(asio::io_context& loop, Descriptor descriptor) {
  return std::make_unique<stream_protocol::socket>(loop, stream_protocol(), descriptor.release());
}

}  // namespace

struct Worker::Run {
  int id = 0;
  std::optional<protocol::RunSpec> spec;  ///< absent: only warm up
  RunLimits limits;
  std::function<void(Event)> handler;
  Chooser chooser;
  pid_t process = 0;
  std::unique_ptr<stream_protocol::socket> channel;
  std::shared_ptr<OutputCapture> output;
  std::unique_ptr<RunInbox> inbox;
  std::optional<RunWatch> watch;
  std::vector<char> buffer = std::vector<char>(std::size_t{256} << 10U);
  std::string stage = "start";
  std::string doing;  ///< the last progress message
  bool channel_open = false;
  std::optional<int> exit_status;
  bool second_parent = false;                ///< the first was gone before it forked
  bool ending = false;                       ///< its processes were told to end
  std::optional<protocol::Failure> failure;  ///< decided, told when the process is gone
  std::optional<protocol::WorkerEnvironment> environment;
  base::Lifetime lifetime;
};

template <typename Action>
auto Worker::guard_run_and_parent(Action action) const {
  return run_->lifetime.guard(parent_lifetime_->guard(std::move(action)));
}

Worker::Worker(asio::io_context& loop, Reaper& reaper, WorkerOptions options)
    : loop_(loop),
      reaper_(reaper),
      options_(std::move(options)),
      builder_(reaper),
      kill_timer_(loop),
      limit_timer_(loop),
      watch_timer_(loop),
      answer_timer_(loop) {}

Worker::~Worker() {
  if (run_ && run_->process != 0) {
    signal_group(run_->process, SIGKILL);
  }
  if (state_ == State::kWarm && parent_ != 0) {
    // It ends by itself when its channel closes, and ends first whatever user code started; also when it was stopped.
    control_.reset();
    signal_group(parent_, SIGCONT);
    ends_within(parent_, kPartingGrace);
  }
  stop_parent();
}

void Worker::run(protocol::RunSpec spec, RunLimits limits, std::function<void(Event)> handler, Chooser chooser) {
  begin(std::move(spec), limits, std::move(handler), std::move(chooser));
}

void Worker::warm_up(RunLimits limits, std::function<void(Event)> handler) {
  begin(std::nullopt, limits, std::move(handler), {});
}

void Worker::begin(std::optional<protocol::RunSpec> spec, RunLimits limits, std::function<void(Event)> handler,
                   Chooser chooser) {
  run_ = std::make_unique<Run>();
  run_->id = ++runs_;
  run_->spec = std::move(spec);
  run_->limits = limits;
  run_->inbox = std::make_unique<RunInbox>(
      limits.recording_bytes,
      [this](const protocol::Progress& step) { progress(step.stage, step.fraction, step.message); },
      [this](const protocol::SizesAsked& asked) { choose_sizes(asked); });
  run_->chooser = std::move(chooser);
  run_->handler = std::move(handler);
  run_->environment = environment_;
  limit_timer_.expires_after(limits.time);
  limit_timer_.async_wait(run_->lifetime.guard([this](const auto& error) {
    if (error) {
      return;
    }
    if (state_ != State::kWarm) {
      stop_parent();  // it hangs in its start: the next run begins with a fresh one
    }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(run_->limits.time).count();
    fail(protocol::FailureKind::kTimeout, run_->stage,
         "The profile was stopped after " + std::to_string(seconds) + " s, while it did this: " + run_->doing +
             ". Raise --time-limit if it needs longer.");
  }));
  if (owed_.has_value()) {
    stop_parent();  // it may be stopped itself, and would not answer this one either
  }
  if (state_ == State::kWarm) {
    start_run();
  } else if (state_ == State::kStopped) {
    start_parent();
  }
}

void Worker::cancel() {
  if (!run_) {
    return;
  }
  // Not from here: the caller may be the run's own handler, in the middle of a step.
  asio::post(loop_, run_->lifetime.guard([this] {
    fail(protocol::FailureKind::kCancelled, run_->stage, "The profile was cancelled.");
  }));
}

void Worker::progress(const std::string& stage, double fraction, const std::string& message) {
  if (run_) {
    run_->stage = stage;
    run_->doing = message;
    run_->handler(protocol::Progress{stage, fraction, message});
  }
}

/// The runner waits for the answer, and goes on without one when it cannot be written.
void Worker::choose_sizes(const protocol::SizesAsked& asked) {
  if (!run_->chooser.choose) {
    answer_choice({});
    return;
  }
  ChoiceAsked choice{asked, "", {}};
  const std::chrono::duration<double> until_limit = limit_timer_.expiry() - std::chrono::steady_clock::now();
  choice.seconds_left = std::min(asked.seconds_left, kShareOfLimit * until_limit.count());
  if (const protocol::RunDevice* device = run_->inbox->device()) {
    choice.device = device->kind;
  }
  for (const MeasuredBatch& batch : run_->inbox->batches()) {
    if (!batch.check && batch.recording != nullptr) {
      choice.recorded.push_back({batch.batch_size, false, {}, {}, 1, batch.recording});
    }
  }
  const auto chosen = run_->lifetime.guard([this](const std::vector<int>& sizes) { answer_choice(sizes); });
  asio::post(run_->chooser.executor,
             [choice = std::move(choice), choose = run_->chooser.choose, &loop = loop_, chosen] {
               std::vector<int> sizes;
               try {
                 sizes = choose(choice);
               } catch (const std::exception&) {
                 // No memory, say. On a thread of a pool it would end the daemon; the run does without more sizes.
               }
               asio::post(loop, [chosen, sizes = std::move(sizes)] { chosen(sizes); });
             });
}

void Worker::answer_choice(const std::vector<int>& sizes) {
  if (run_->channel == nullptr) {
    return;
  }
  const auto frame = std::make_shared<std::string>(protocol::encode_message(protocol::chosen_message(sizes)));
  asio::async_write(*run_->channel, asio::buffer(*frame), [frame](const auto& /*error*/, std::size_t /*count*/) {});
}

// The warm parent -------------------------------------------------------------------------------------------------

void Worker::start_parent() {
  progress("start", 0, "Starting " + options_.interpreter);
  const base::Result<std::string> sources = unpack_sources(options_.cache);
  if (!sources) {
    fail(protocol::FailureKind::kCache, "start",
         sources.error().message() + ". Make room there, or set RIDGELINE_CACHE to a folder on another disk.");
    return;
  }
  sources_ = *sources;
  auto [ours, theirs] = socket_pair();
  auto [output_read, output_write] = pipe_pair();
  if (ours.get() < 0 || output_read.get() < 0) {
    fail(protocol::FailureKind::kResources, "start", "The daemon has no file descriptors left for a worker.");
    return;
  }
  constexpr int kChannel = 3;
  const base::Result<pid_t> started =
      spawn({{options_.interpreter, sources_ + "/profiler/runner/ridgeline_runner", std::to_string(kChannel)},
             "/",
             {{theirs.get(), kChannel}, {output_write.get(), 1}, {output_write.get(), 2}}});
  if (!started) {
    fail(protocol::FailureKind::kInterpreter, "start", started.error().message());
    return;
  }
  parent_ = *started;
  state_ = State::kStarting;
  parent_lifetime_.emplace();
  control_ = adopt(loop_, std::move(ours));
  control_frames_ = {};
  parent_output_ = std::make_shared<OutputCapture>(loop_, std::move(output_read));
  parent_output_->start();
  const auto ended = parent_lifetime_->guard([this](int status) { parent_ended(status); });
  reaper_.watch(parent_, [&loop = loop_, ended](int status) {
    // Behind what was read from the control channel already and waits for its turn.
    asio::post(loop, [ended, status] { ended(status); });
  });
  progress("start", 0, "Importing torch");
  read_control();
}

void Worker::stop_parent() {
  parent_lifetime_.reset();
  builder_.cancel();
  control_.reset();
  if (parent_output_) {
    parent_output_->close();
    parent_output_.reset();
  }
  if (parent_ != 0) {
    signal_group(parent_, SIGKILL);
    reaper_.watch(std::exchange(parent_, 0), [](int /*status*/) {});
  }
  state_ = State::kStopped;
  environment_.reset();
  owed_.reset();
}

void Worker::read_control() {
  auto buffer = std::make_shared<std::array<char, 16384>>();
  const auto on_read = [this, buffer, parent = parent_lifetime_->watch()](const auto& error, std::size_t count) {
    if (error) {
      return;  // the end of the process tells the rest
    }
    handle_control_bytes({buffer->data(), count});
    if (!parent.expired()) {
      read_control();
    }
  };
  control_->async_read_some(asio::buffer(*buffer), parent_lifetime_->guard(on_read));
}

/// What the parent wrote and nobody has read yet.
void Worker::read_rest_of_control() {
  std::array<char, 16384> buffer{};
  boost::system::error_code error;
  control_->non_blocking(true, error);
  for (const auto parent = parent_lifetime_->watch(); !parent.expired();) {
    const std::size_t count = control_->read_some(asio::buffer(buffer), error);
    if (error) {
      return;
    }
    handle_control_bytes({buffer.data(), count});
  }
}

void Worker::handle_control_bytes(std::string_view bytes) {
  control_frames_.feed(bytes);
  const auto parent = parent_lifetime_->watch();
  while (auto next = control_frames_.next()) {
    std::string problem;
    std::optional<protocol::WorkerMessage> message;
    if (const auto* frame = std::get_if<protocol::Frame>(&*next)) {
      message = protocol::parse_worker_message(frame->payload, problem);
    } else {
      problem = std::get<protocol::FrameError>(*next).what;
    }
    if (message.has_value() && !is_expected(*message)) {
      message.reset();
      problem = "it sent an unexpected message";
    }
    if (!message.has_value()) {
      stop_parent();
      fail(protocol::FailureKind::kWorkerProtocol, run_ ? run_->stage : "start",
           "The worker broke the protocol: " + problem + ".");
      return;
    }
    handle_control(std::move(*message));
    if (parent.expired()) {
      return;
    }
  }
}

/// Whether the parent may say this now.
bool Worker::is_expected(const protocol::WorkerMessage& message) const {
  if (std::holds_alternative<protocol::Ready>(message) || std::holds_alternative<protocol::Unusable>(message)) {
    return state_ == State::kStarting;
  }
  if (std::holds_alternative<protocol::AgentLoaded>(message) ||
      std::holds_alternative<protocol::AgentRefused>(message)) {
    return state_ == State::kLoading;
  }
  return state_ == State::kWarm &&
         (std::holds_alternative<protocol::Started>(message) || std::holds_alternative<protocol::Exited>(message));
}

void Worker::handle_control(protocol::WorkerMessage message) {
  if (const auto* ready = std::get_if<protocol::Ready>(&message)) {
    on_ready(*ready);
  } else if (const auto* unusable = std::get_if<protocol::Unusable>(&message)) {
    const std::string words = unusable->executable + " cannot import torch: " + unusable->message +
                              ". Install torch there, or name another interpreter with --python.";
    if (run_) {
      run_->environment.emplace();
      run_->environment->python = unusable->python;
      run_->environment->executable = unusable->executable;
    }
    stop_parent();
    fail(protocol::FailureKind::kNoTorch, "start", words);
  } else if (std::get_if<protocol::AgentLoaded>(&message) != nullptr) {
    state_ = State::kWarm;
    if (run_) {
      start_run();
    }
  } else if (const auto* refused = std::get_if<protocol::AgentRefused>(&message)) {
    // A broken agent must not stay in the cache.
    std::error_code problem;
    std::filesystem::remove(agent_path(options_.cache, *environment_), problem);
    const std::string words = refused->message;
    stop_parent();
    fail(protocol::FailureKind::kAgentRefused, "start",
         "The agent could not be loaded and is built anew next time: " + words);
  } else if (const auto* started = std::get_if<protocol::Started>(&message)) {
    if (run_ && run_->id == started->run) {
      run_->process = started->pid;
      if (run_->channel_open) {
        answer_timer_.cancel();  // else it waits for the end
      }
      if (run_->failure.has_value()) {
        kill_run();
      } else {
        run_->watch.emplace(parent_);
        watch_run();
      }
    } else {
      signal_group(started->pid, SIGKILL);  // of a run that was given up before it began
    }
  } else if (const auto* exited = std::get_if<protocol::Exited>(&message)) {
    if (owed_ == exited->run) {
      owed_.reset();
    }
    if (run_ && run_->id == exited->run) {
      run_->exit_status = exited->status;
      if (!exited->too_many.empty() && !run_->failure.has_value()) {
        run_->failure = protocol::failure_of(
            protocol::FailureKind::kTooManyProcesses, run_->stage,
            "The profiled code started " + exited->too_many + " and was stopped. Look for a loop that starts them.");
      }
      maybe_finish();
    }
  }
}

void Worker::on_ready(const protocol::Ready& ready) {
  environment_ = ready.environment;
  if (run_) {
    run_->environment = environment_;
  }
  if (const std::optional<protocol::Failure> failure = unsupported(*environment_)) {
    stop_parent();
    fail(failure->kind, failure->stage, failure->message);
    return;
  }
  std::error_code problem;
  if (std::filesystem::exists(agent_path(options_.cache, *environment_), problem)) {
    load_agent();
  } else {
    build_agent();
  }
}

void Worker::build_agent() {
  state_ = State::kBuilding;
  const std::string words = "Building the agent for torch " + environment_->torch + ", once";
  progress("build", 0, words);
  builder_.start(*environment_, sources_, options_.cache,
                 {[this, words](double fraction) { progress("build", fraction, words); },
                  [this](const std::optional<protocol::Failure>& failure) {
                    if (!failure.has_value()) {
                      load_agent();
                    } else {
                      stop_parent();
                      fail(failure->kind, failure->stage, failure->message);
                    }
                  }});
}

void Worker::load_agent() {
  state_ = State::kLoading;
  progress("start", 0, "Loading the agent");
  const std::string message = protocol::load_agent_message(agent_path(options_.cache, *environment_));
  send_with_descriptors(control_->native_handle(), protocol::encode_message(message), {});
}

void Worker::parent_ended(int status) {
  parent_ = 0;
  const bool was_warm = state_ == State::kWarm;
  const auto parent = parent_lifetime_->watch();
  read_rest_of_control();
  if (parent.expired()) {
    return;  // its last message told why
  }
  const std::string output = parent_output_ ? parent_output_->tail() : "";
  stop_parent();
  if (!run_ || (was_warm && begin_again())) {
    return;
  }
  if (run_->process != 0) {
    signal_group(run_->process, SIGKILL);
  }
  run_->exit_status = run_->exit_status.value_or(SIGKILL);  // nobody is left who could tell it
  fail(protocol::FailureKind::kWorkerDied, run_->stage,
       std::string(was_warm ? "The worker " : "The interpreter ") + describe_end(status) +
           (output.empty() ? "." : ". Last output:\n" + output));
}

/// After the end of a warm parent: whether the run is with another now, because nothing of it had begun. Something
/// outside ended an interpreter that did nothing; once, that is nobody's concern.
bool Worker::begin_again() {
  if (run_->process != 0 || run_->failure.has_value() || std::exchange(run_->second_parent, true)) {
    return false;
  }
  answer_timer_.cancel();
  run_->channel.reset();
  run_->channel_open = false;
  if (run_->output) {
    run_->output->close();
    run_->output.reset();
  }
  start_parent();
  return true;
}

// A run -----------------------------------------------------------------------------------------------------------

void Worker::start_run() {
  if (run_->failure.has_value()) {
    return;
  }
  if (!run_->spec.has_value()) {
    finish(Warm{});
    return;
  }
  auto [ours, theirs] = socket_pair();
  auto [output_read, output_write] = pipe_pair();
  if (ours.get() < 0 || output_read.get() < 0) {
    fail(protocol::FailureKind::kResources, "start", "The daemon has no file descriptors left for a run.");
    return;
  }
  run_->spec->environment_roots = environment_->environment_roots;
  const std::string message = protocol::encode_message(protocol::run_message(run_->id, *run_->spec));
  if (!send_with_descriptors(control_->native_handle(), message, {theirs.get(), output_write.get()})) {
    stop_parent();
    if (!begin_again()) {
      fail(protocol::FailureKind::kWorkerDied, "start", "The worker does not answer.");
    }
    return;
  }
  run_->channel = adopt(loop_, std::move(ours));
  run_->channel_open = true;
  run_->output = std::make_shared<OutputCapture>(loop_, std::move(output_read));
  run_->output->start();
  read_channel();
  expect_an_answer(run_->second_parent ? run_->limits.answer : run_->limits.begin);
}

/// A parent that says nothing for too long is ended, and its run with it where that has begun.
void Worker::expect_an_answer(milliseconds patience) {
  answer_timer_.expires_after(patience);
  answer_timer_.async_wait(guard_run_and_parent([this, patience](const auto& error) {
    if (error) {
      return;
    }
    stop_parent();
    if (begin_again()) {
      return;
    }
    run_->exit_status = SIGKILL;  // nobody is left who could tell it
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience).count();
    fail(protocol::FailureKind::kWorkerDied, run_->stage,
         "The worker said nothing for " + std::to_string(seconds) + " s, and was ended. Profile again.");
  }));
}

void Worker::read_channel() {
  const auto on_read = [this, run = run_->lifetime.watch()](const auto& error, std::size_t count) {
    if (error == asio::error::operation_aborted) {
      return;
    }
    if (error) {
      run_->channel_open = false;
      expect_an_answer(run_->limits.answer);  // unless it ends now
      maybe_finish();
      return;
    }
    const bool given_up = run_->failure.has_value();  // what still comes is of no interest
    const auto broken = given_up ? std::nullopt : run_->inbox->feed({run_->buffer.data(), count});
    if (broken.has_value()) {
      fail(broken->kind, run_->stage, broken->message);
    } else if (!given_up && run_->inbox->told().has_value()) {
      run_->failure = run_->inbox->told();
    }
    if (!run.expired()) {
      read_channel();
    }
  };
  run_->channel->async_read_some(asio::buffer(run_->buffer), guard_run_and_parent(on_read));
}

/// Ends the run as soon as the system shows that it cannot end by itself, instead of at its time limit.
void Worker::watch_run() {
  watch_timer_.expires_after(kWatchInterval);
  watch_timer_.async_wait(run_->lifetime.guard([this](const auto& error) {
    if (error || run_->exit_status.has_value() || run_->failure.has_value() || run_->inbox->has_final_result()) {
      return;  // it ended, or is about to
    }
    if (const auto end = run_->watch->look(run_->process, run_->channel_open)) {
      fail(end->kind, run_->stage, end->message);
    } else {
      watch_run();
    }
  }));
}

/// Gives up the run: remembers why, and ends its processes. The first reason stands, unless the user cancels.
void Worker::fail(protocol::FailureKind kind, const std::string& stage, const std::string& message) {
  if (!run_) {
    return;
  }
  if (!run_->failure.has_value() || kind == protocol::FailureKind::kCancelled) {
    run_->failure = protocol::failure_of(kind, stage, message);
  }
  if (state_ == State::kBuilding) {
    stop_parent();  // a build is of no use to anyone else yet
  }
  if (run_->channel == nullptr || run_->exit_status.has_value()) {
    maybe_finish();
  } else if (!run_->ending) {  // else its time is running already
    kill_run();
  }
}

void Worker::kill_run() {
  run_->ending = true;
  // A process that is not forked yet is ended when `started` names it.
  if (run_->process != 0) {
    signal_group(run_->process, SIGTERM);
  }
  kill_timer_.expires_after(kTermGrace);
  kill_timer_.async_wait(run_->lifetime.guard([this](const auto& error) {
    if (error) {
      return;
    }
    if (run_->process != 0) {
      signal_group(run_->process, SIGKILL);
    }
    kill_timer_.expires_after(kKillGrace);
    kill_timer_.async_wait(run_->lifetime.guard([this](const auto& late) {
      if (!late) {
        // It cannot be seen to end, in the kernel perhaps: the run ends without it.
        run_->exit_status = SIGKILL;
        owed_ = run_->id;
        maybe_finish();
      }
    }));
  }));
}

/// A run is over when its process is gone and its channel is read to the end, or when it never began.
void Worker::maybe_finish() {
  const bool began = run_->channel != nullptr;
  if (began && !run_->exit_status.has_value()) {
    return;
  }
  if (began && run_->channel_open && !run_->failure.has_value()) {
    return;  // the last messages are still on their way
  }
  if (run_->failure.has_value()) {
    finish_early(std::move(*run_->failure));
  } else if (*run_->exit_status == W_EXITCODE(kChannelLost, 0)) {
    const protocol::Failure broken = channel_broken("it was closed");
    finish_early(protocol::failure_of(broken.kind, run_->stage, broken.message));
  } else if (*run_->exit_status != 0 || !run_->inbox->has_final_result()) {
    finish_early(protocol::failure_of(protocol::FailureKind::kProcessDied, run_->stage,
                                      "The profiled process " + describe_end(*run_->exit_status) + "."));
  } else if (std::optional<Measured> measured = run_->inbox->take_measured()) {
    finish(RunOutput{std::move(*measured), environment_.value_or(protocol::WorkerEnvironment{})});
  } else {
    finish(protocol::failure_of(protocol::FailureKind::kWorkerProtocol, run_->stage,
                                "The worker sent a result without its measurements."));
  }
}

/// The run did not end well: its figures are those measured until then, where they are enough for a profile.
void Worker::finish_early(protocol::Failure failure) {
  if (failure.kind == protocol::FailureKind::kTimeout && run_->output) {
    std::string output = run_->output->tail();
    failure.frames = take_stack_dump(output);
  }
  if (failure.kind != protocol::FailureKind::kCancelled && run_->inbox != nullptr) {
    if (std::optional<Measured> measured = run_->inbox->take_measured_until(failure, run_->spec->project_root)) {
      finish(RunOutput{std::move(*measured), run_->environment.value_or(protocol::WorkerEnvironment{})});
      return;
    }
  }
  finish(std::move(failure));
}

void Worker::finish(std::variant<RunOutput, Warm, protocol::Failure> outcome) {
  const std::unique_ptr<Run> run = std::move(run_);
  limit_timer_.cancel();
  kill_timer_.cancel();
  answer_timer_.cancel();
  watch_timer_.cancel();
  if (run->process != 0) {
    signal_group(run->process, SIGKILL);  // what it left behind
  }
  std::string output = run->output ? run->output->tail() : "";
  take_stack_dump(output);  // nothing that the user's code wrote
  if (run->output) {
    run->output->close();
  }
  run->handler(Finished{std::move(outcome), std::move(output), std::move(run->environment)});
}

}  // namespace ridgeline::worker
