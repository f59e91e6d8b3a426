#include "worker/fork_server.h"

#include <signal.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "worker/cache.h"
#include "worker/versions.h"

namespace ridgeline::worker {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using protocol::FailureKind;

namespace {

/// At once, but for thousands of processes that runs left behind.
constexpr std::chrono::milliseconds kCloseGrace{12'000};
/// The descriptor of the control channel in the interpreter.
constexpr int kControl = 3;

}  // namespace

ForkServer::ForkServer(asio::io_context& loop, Reaper& reaper, WorkerOptions options, std::string sources,
                       ForkServerListener& listener)
    : loop_(loop),
      reaper_(reaper),
      options_(std::move(options)),
      sources_(std::move(sources)),
      listener_(listener),
      builder_(reaper, *this) {}

ForkServer::~ForkServer() {
  builder_.cancel();
  if (output_) {
    output_->close();
  }
  if (process_ != 0) {
    signal_group(process_, SIGKILL);
    reaper_.watch(process_, [](int /*status*/) {});
  }
}

base::Result<std::unique_ptr<ForkServer>, protocol::Failure> ForkServer::start(asio::io_context& loop, Reaper& reaper,
                                                                               const WorkerOptions& options,
                                                                               ForkServerListener& listener) {
  base::Result<std::string> sources = unpack_sources(options.cache);
  if (!sources) {
    return protocol::failure_of(
        FailureKind::kCache, "start",
        sources.error().message() + ". Make room there, or set RIDGELINE_CACHE to a folder on another disk.");
  }
  std::unique_ptr<ForkServer> server(new ForkServer(loop, reaper, options, std::move(*sources), listener));
  if (const auto started = server->spawn_interpreter(); !started) {
    return started.error();
  }
  return server;
}

base::Result<void, protocol::Failure> ForkServer::spawn_interpreter() {
  auto [ours, theirs] = socket_pair();
  auto [output_read, output_write] = pipe_pair();
  if (ours.get() < 0 || output_read.get() < 0) {
    return protocol::failure_of(FailureKind::kResources, "start",
                                "The daemon has no file descriptors left for a worker.");
  }
  const base::Result<pid_t> started =
      spawn({{options_.interpreter, sources_ + "/profiler/runner/ridgeline_runner", std::to_string(kControl)},
             "/",
             {{theirs.get(), kControl}, {output_write.get(), 1}, {output_write.get(), 2}}});
  if (!started) {
    return protocol::failure_of(FailureKind::kInterpreter, "start", started.error().message());
  }
  process_ = *started;
  control_ = std::make_unique<stream_protocol::socket>(loop_, stream_protocol(), ours.release());
  output_ = std::make_shared<OutputCapture>(loop_, std::move(output_read));
  output_->start();
  const auto ended = lifetime_.guard([this](int status) { on_process_ended(status); });
  reaper_.watch(process_, [&loop = loop_, ended](int status) {
    // Behind what was read from the control channel already and waits for its turn.
    asio::post(loop, [ended, status] { ended(status); });
  });
  read();
  return {};
}

bool ForkServer::fork(int run, protocol::RunSpec spec, const Descriptor& channel, const Descriptor& output) {
  spec.environment_roots = environment_->environment_roots;
  const std::string message = protocol::encode_message(protocol::run_message(run, spec));
  if (is_sending_) {
    return false;
  }
  const std::size_t sent = send_with_descriptors(control_->native_handle(), message, {channel.get(), output.get()});
  if (sent > 0 && sent < message.size()) {  // what the socket does not hold at once
    is_sending_ = true;
    const auto rest = std::make_shared<const std::string>(message.substr(sent));
    const auto written = lifetime_.guard([this](const boost::system::error_code&, std::size_t) {
      is_sending_ = false;  // the end of the process is reported where it is read
    });
    asio::async_write(
        *control_, asio::buffer(*rest),
        [rest, written](const boost::system::error_code& error, std::size_t size) { written(error, size); });
  }
  return sent > 0;
}

void ForkServer::close() {
  control_.reset();
  signal_group(process_, SIGCONT);  // it may have been stopped
  ends_within(process_, kCloseGrace);
}

void ForkServer::emit(const ForkServerEvent& event) const {
  listener_.on_fork_server_event(event);  // which may destroy us
}

/// The last thing that a member function does.
void ForkServer::end(FailureKind kind, const std::string& stage, const std::string& message) const {
  emit(ForkServerEnded{protocol::failure_of(kind, stage, message)});
}

void ForkServer::read() {
  const auto buffer = std::make_shared<std::array<char, 16384>>();
  const auto on_read = [this, buffer, alive = lifetime_.watch()](const auto& error, std::size_t count) {
    if (error) {
      return;  // the end of the process says the rest
    }
    handle_bytes({buffer->data(), count});
    if (!alive.expired()) {
      read();
    }
  };
  control_->async_read_some(asio::buffer(*buffer), lifetime_.guard(on_read));
}

/// What the process wrote before it ended, and nobody has read yet.
void ForkServer::read_rest() {
  std::array<char, 16384> buffer{};
  boost::system::error_code error;
  control_->non_blocking(true, error);
  for (const auto alive = lifetime_.watch(); !alive.expired();) {
    const std::size_t count = control_->read_some(asio::buffer(buffer), error);
    if (error) {
      return;
    }
    handle_bytes({buffer.data(), count});
  }
}

void ForkServer::handle_bytes(std::string_view bytes) {
  frames_.feed(bytes);
  const auto alive = lifetime_.watch();
  while (auto next = frames_.next()) {
    const auto* frame = std::get_if<protocol::Frame>(&*next);
    base::Result<protocol::WorkerMessage> message = frame != nullptr
                                                        ? protocol::parse_worker_message(frame->payload)
                                                        : base::error(std::get<protocol::FrameError>(*next).what);
    if (message && !is_expected(*message)) {
      message = base::error("it sent an unexpected message");
    }
    if (!message) {
      end(FailureKind::kWorkerProtocol, "", "The worker broke the protocol: " + message.error().message() + ".");
      return;
    }
    handle_message(*message);
    if (alive.expired()) {
      return;
    }
  }
}

/// Whether the interpreter may send this now.
bool ForkServer::is_expected(const protocol::WorkerMessage& message) const {
  if (std::holds_alternative<protocol::Ready>(message) || std::holds_alternative<protocol::Unusable>(message)) {
    return std::holds_alternative<Starting>(state_);
  }
  if (std::holds_alternative<protocol::AgentLoaded>(message) ||
      std::holds_alternative<protocol::AgentRefused>(message)) {
    return std::holds_alternative<Loading>(state_);
  }
  return is_ready() &&
         (std::holds_alternative<protocol::Started>(message) || std::holds_alternative<protocol::Exited>(message));
}

void ForkServer::handle_message(const protocol::WorkerMessage& message) {
  if (const auto* ready = std::get_if<protocol::Ready>(&message)) {
    on_ready(*ready);
  } else if (const auto* unusable = std::get_if<protocol::Unusable>(&message)) {
    on_unusable(*unusable);
  } else if (std::holds_alternative<protocol::AgentLoaded>(message)) {
    state_ = ForkServerReady{};
    emit(ForkServerReady{});
  } else if (const auto* refused = std::get_if<protocol::AgentRefused>(&message)) {
    on_agent_refused(*refused);
  } else if (const auto* started = std::get_if<protocol::Started>(&message)) {
    emit(*started);
  } else if (const auto* exited = std::get_if<protocol::Exited>(&message)) {
    if (abandoned_run_ == exited->run) {
      abandoned_run_.reset();
    }
    emit(*exited);
  }
}

void ForkServer::on_ready(const protocol::Ready& ready) {
  environment_ = ready.environment;
  emit(*environment_);
  if (const std::optional<protocol::Failure> failure = unsupported(*environment_)) {
    end(failure->kind, failure->stage, failure->message);
    return;
  }
  if (has_agent(options_.cache, *environment_)) {
    load_agent();
  } else {
    build_agent();
  }
}

void ForkServer::on_unusable(const protocol::Unusable& unusable) {
  environment_.emplace();
  environment_->python = unusable.python;
  environment_->executable = unusable.executable;
  emit(*environment_);
  end(FailureKind::kNoTorch, "start",
      unusable.executable + " cannot import torch: " + unusable.message +
          ". Install torch there, or name another interpreter with --python.");
}

void ForkServer::on_agent_refused(const protocol::AgentRefused& refused) {
  const std::string agent = agent_path(options_.cache, *environment_);
  if (is_bundled(options_.cache, agent)) {
    end(FailureKind::kAgentRefused, "start",
        "The agent " + agent +
            " could not be loaded. `ridgeline agent build` builds another. Error: " + refused.message);
    return;
  }
  if (const std::string problem = noexec_problem(options_.cache); !problem.empty()) {
    end(FailureKind::kCache, "start", problem);
    return;
  }
  // A broken agent must not stay in the cache.
  std::error_code problem;
  std::filesystem::remove(agent, problem);
  end(FailureKind::kAgentRefused, "start",
      "The agent could not be loaded. It will be rebuilt next time. Error: " + refused.message);
}

void ForkServer::build_agent() {
  state_ = Building{};
  on_build_progress(0);
  builder_.start(*environment_, sources_, options_.cache);
}

void ForkServer::on_build_progress(double fraction) {
  emit(protocol::Progress{"build", fraction, "Building the agent for torch " + environment_->torch + ", once"});
}

void ForkServer::on_build_end(const std::optional<protocol::Failure>& failure) {
  // Not from within the builder, which what follows may destroy.
  asio::post(loop_, lifetime_.guard([this, failure] {
    if (failure.has_value()) {
      end(failure->kind, failure->stage, failure->message);
    } else {
      load_agent();
    }
  }));
}

void ForkServer::load_agent() {
  state_ = Loading{};
  emit(protocol::Progress{"start", 0, "Loading the agent"});
  const std::string message = protocol::load_agent_message(agent_path(options_.cache, *environment_));
  send_with_descriptors(control_->native_handle(), protocol::encode_message(message), {});
}

void ForkServer::on_process_ended(int status) {
  process_ = 0;
  const bool was_ready = is_ready();
  const auto alive = lifetime_.watch();
  read_rest();
  if (alive.expired()) {
    return;  // its last message said why
  }
  const std::string output = output_->tail();
  const std::string message = std::string(was_ready ? "The worker " : "The interpreter ") + describe_end(status) +
                              (output.empty() ? "." : ". Last output:\n" + output);
  emit(ForkServerEnded{protocol::failure_of(FailureKind::kWorkerDied, "", message), was_ready});
}

}  // namespace ridgeline::worker
