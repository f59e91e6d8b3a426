#include "worker/job.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "base/file.h"
#include "worker/cache.h"
#include "worker/guard/guarded_command.h"
#include "worker/job_folder.h"
#include "worker/versions.h"

namespace ridgeline::worker {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using protocol::FailureKind;

namespace {

/// After the command's end, for what its processes wrote last. One that lives on is no longer waited for.
constexpr std::chrono::seconds kPatience{5};
/// For a script in the background to end, once its steps were timed and it was told to stop.
constexpr std::chrono::seconds kStopGrace{10};
/// Between SIGTERM and SIGKILL.
constexpr std::chrono::milliseconds kJobTermGrace{100};
constexpr std::size_t kMostClients = 1024;
constexpr std::size_t kMostReportBytes = std::size_t{1} << 16U;
constexpr std::uint64_t kRecordingBytes = std::uint64_t{2} << 30U;
constexpr std::size_t kReadBytes = std::size_t{1} << 18U;

protocol::Failure start_failure(FailureKind kind, const std::string& message) {
  return protocol::failure_of(kind, "start", message);
}

using Clock = std::chrono::steady_clock;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

std::string_view variable_name(std::string_view variable) { return variable.substr(0, variable.find('=')); }

/// Ours and `added`, with PYTHONPATH, RIDGELINE_JOB and RIDGELINE_JOB_DEVICE for the job's processes.
std::vector<std::string> environment_for_job(const std::vector<std::string>& added, const std::string& startup,
                                             const std::string& address, const std::string& device) {
  std::vector<std::string> all = added;
  for (char** one = environ; *one != nullptr; ++one) {
    const auto replaces = [&](const std::string& other) { return variable_name(other) == variable_name(*one); };
    if (std::ranges::none_of(added, replaces)) {
      all.emplace_back(*one);
    }
  }
  std::vector<std::string> variables;
  std::string path = "PYTHONPATH=" + startup;
  for (std::string& variable : all) {
    if (variable_name(variable) == "PYTHONPATH") {
      const std::string folders = variable.substr(variable.find('=') + 1);
      path += folders.empty() ? "" : ":" + folders;  // nothing behind a colon is the working folder
    } else if (variable_name(variable) != "RIDGELINE_JOB" && variable_name(variable) != "RIDGELINE_JOB_DEVICE") {
      variables.push_back(std::move(variable));
    }
  }
  variables.push_back(std::move(path));
  variables.push_back("RIDGELINE_JOB=" + address);
  if (!device.empty()) {
    variables.push_back("RIDGELINE_JOB_DEVICE=" + device);
  }
  return variables;
}

std::string text_path(const std::string& folder) { return folder + "/script.txt"; }

/// Python separates the folders of PYTHONPATH by colons, which cannot be escaped: where the folder of the sources has
/// one, `folder` gets a link to them.
base::Result<std::string> startup_folder(const std::string& sources, const std::string& folder) {
  const std::string runner = sources + "/profiler/runner";
  if (runner.find(':') == std::string::npos) {
    return runner + "/startup";
  }
  const std::string link = folder + "/runner";
  std::error_code problem;
  std::filesystem::create_directory_symlink(runner, link, problem);
  if (problem || link.find(':') != std::string::npos) {
    return base::error("Python cannot import from " + runner + ", as a colon separates folders in PYTHONPATH. Set " +
                       "RIDGELINE_CACHE or TMPDIR to a folder without a colon.");
  }
  return link + "/startup";
}

}  // namespace

Job::Job(asio::io_context& loop, Reaper& reaper, JobOptions options, JobListener& listener)
    : loop_(loop),
      reaper_(reaper),
      options_(std::move(options)),
      listener_(listener),
      builder_(reaper, *this),
      acceptor_(loop),
      patience_(loop),
      end_timer_(loop),
      limit_(loop),
      recording_(loop),
      end_(loop) {}

Job::~Job() {
  builder_.cancel();
  if (options_.in_background && process_ != 0 && !status_.has_value()) {
    signal_group(process_, SIGKILL);
  }
  if (output_ != nullptr) {
    output_->close();
  }
  std::error_code problem;
  if (!folder_.empty()) {
    std::filesystem::remove_all(folder_, problem);
  }
}

base::Result<std::unique_ptr<Job>, protocol::Failure> Job::start(asio::io_context& loop, Reaper& reaper,
                                                                 JobOptions options, JobListener& listener) {
  base::Result<std::string> sources = unpack_sources(options.cache);
  if (!sources) {
    return start_failure(
        FailureKind::kCache,
        sources.error().message() + ". Make room there, or set RIDGELINE_CACHE to a folder on another disk.");
  }
  std::unique_ptr<Job> job(new Job(loop, reaper, std::move(options), listener));
  job->sources_ = *sources;
  if (auto listening = job->listen(); !listening) {
    return listening.error();
  }
  if (auto started = job->spawn_command(*sources); !started) {
    return started.error();
  }
  job->accept();
  return job;
}

base::Result<void, protocol::Failure> Job::listen() {
  const auto folder = make_job_folder();
  if (!folder) {
    return start_failure(FailureKind::kResources, folder.error().message());
  }
  folder_ = *folder;
  boost::system::error_code refused;
  const std::string address = job_address(folder_);
  if (address.size() >= sizeof(sockaddr_un::sun_path)) {
    return start_failure(FailureKind::kResources, "The path " + address + " is too long for a socket. Set TMPDIR.");
  }
  const stream_protocol::endpoint endpoint(address);
  acceptor_.open(endpoint.protocol(), refused);
  if (!refused) {
    acceptor_.bind(endpoint, refused);
  }
  if (!refused) {
    acceptor_.listen(asio::socket_base::max_listen_connections, refused);
  }
  if (refused) {
    return start_failure(FailureKind::kResources, "Cannot listen at " + address + ": " + refused.message() + ".");
  }
  return {};
}

base::Result<void, protocol::Failure> Job::spawn_command(const std::string& sources) {
  const auto startup = startup_folder(sources, folder_);
  if (!startup) {
    return start_failure(FailureKind::kCache, startup.error().message());
  }
  startup_ = *startup;
  if (auto written = write_script_text(); !written) {
    return written;
  }
  const std::vector<std::string> variables =
      environment_for_job(options_.variables, *startup, acceptor_.local_endpoint().path(), options_.device);
  if (options_.in_background) {
    const auto started = spawn_in_background(variables);
    if (!started) {
      return started.error();
    }
    process_ = *started;
    reaper_.watch(process_, lifetime_.guard([this](int status) { on_command_ended(status); }));
    end_at_limit();
    return {};
  }
  const auto started = spawn_in_foreground(command(), variables, options_.discards_output);
  if (!started) {
    return start_failure(FailureKind::kEntryUnreadable,
                         "Cannot run " + command().front() + ": " + started.error().message() + ".");
  }
  process_ = *started;
  reaper_.watch(process_, lifetime_.guard([this](int status) { on_command_ended(status); }));
  return {};
}

base::Result<void, protocol::Failure> Job::write_script_text() {
  if (options_.script_text.empty()) {
    return {};
  }
  std::ofstream out(text_path(folder_), std::ios::binary);
  out << options_.script_text;
  if (!out.flush()) {
    return start_failure(FailureKind::kResources, "The text of the script could not be written to " + folder_ + ".");
  }
  return {};
}

std::vector<std::string> Job::command() const {
  std::vector<std::string> words = options_.command;
  if (!options_.script_text.empty() && !words.empty()) {
    words.insert(words.begin() + 1, {startup_ + "/run_text.py", text_path(folder_)});
  }
  if (options_.guarded) {
    words.insert(words.begin(), {"/proc/self/exe", "guard", "--folder", folder_, "--"});
  }
  return words;
}

base::Result<pid_t, protocol::Failure> Job::spawn_in_background(const std::vector<std::string>& variables) {
  auto [output_read, output_write] = pipe_pair();
  if (output_read.get() < 0) {
    return start_failure(FailureKind::kResources, "The daemon has no file descriptors left for the script.");
  }
  const auto started = spawn({command(),
                              options_.folder,
                              {{output_write.get(), STDOUT_FILENO}, {output_write.get(), STDERR_FILENO}},
                              variables});
  if (!started) {
    return start_failure(FailureKind::kEntryUnreadable, "Cannot start the script: " + started.error().message() + ".");
  }
  output_ = std::make_shared<OutputCapture>(loop_, std::move(output_read));
  output_->start([this](std::string_view text) {  // until ~Job closes it
    if (!options_.discards_output) {
      listener_.on_job_output(text);
    }
  });
  return *started;
}

void Job::report(const char* stage, double fraction, const std::string& message) const {
  listener_.on_job_progress({stage, fraction, message});
}

void Job::cancel() {
  if (!options_.in_background || status_.has_value()) {
    return;
  }
  cancelled_ = true;
  signal_group(process_, SIGTERM);
  end_timer_.expires_after(kJobTermGrace);
  end_timer_.async_wait(lifetime_.guard([this](const boost::system::error_code& error) {
    if (!error && !status_.has_value()) {
      signal_group(process_, SIGKILL);
    }
  }));
}

void Job::end_at_limit() {
  if (options_.time_limit == options_.time_limit.zero()) {
    return;
  }
  limit_.expires_after(options_.time_limit);
  limit_.async_wait(lifetime_.guard([this](const boost::system::error_code& error) {
    if (!error && !status_.has_value()) {
      timed_out_ = true;
      cancel();
    }
  }));
}

void Job::expect_end() {
  if (!options_.in_background || !options_.spec.stop || status_.has_value()) {
    return;
  }
  end_timer_.expires_after(kStopGrace);
  end_timer_.async_wait(lifetime_.guard([this](const boost::system::error_code& error) {
    if (!error) {
      cancel();
    }
  }));
}

void Job::accept() {
  const auto accepted = [this](const boost::system::error_code& error, Socket socket) {
    if (error == asio::error::operation_aborted) {
      return;
    }
    if (!error && clients_.size() < kMostClients) {
      clients_.emplace_back(*this, std::move(socket));
      read(clients_.back());
    }
    accept();
  };
  acceptor_.async_accept(lifetime_.guard(accepted));
}

void Job::read(Client& client) {
  const auto buffer = std::make_shared<std::vector<char>>(kReadBytes);
  const auto on_read = [this, &client, buffer](const boost::system::error_code& error, std::size_t count) {
    if (error || !client.open) {
      close(client);
      return;
    }
    handle_bytes(client, {buffer->data(), count});
    read(client);
  };
  client.socket.async_read_some(asio::buffer(*buffer), lifetime_.guard(on_read));
}

void Job::handle_bytes(Client& client, std::string_view bytes) {
  if (client.inbox != nullptr) {
    if (auto problem = client.inbox->feed(bytes)) {
      refuse(client, std::move(*problem));
    } else if (!client.has_recording && !client.inbox->batches().empty()) {
      client.has_recording = true;
      report("time", 0.5, "Timing training steps");
    }
    return;
  }
  client.frames.feed(bytes);
  while (auto next = client.frames.next()) {
    const auto* frame = std::get_if<protocol::Frame>(&*next);
    base::Result<protocol::WorkerMessage> message = frame != nullptr
                                                        ? protocol::parse_worker_message(frame->payload)
                                                        : base::error(std::get<protocol::FrameError>(*next).what);
    if (auto* late = message ? std::get_if<protocol::LateOutOfMemory>(&*message) : nullptr) {
      add_late(std::move(*late));
    }
    auto* joined = message ? std::get_if<protocol::Joined>(&*message) : nullptr;
    if (joined == nullptr || client.joined.has_value()) {
      close(client);  // it has said all, or is not one of our runners
      return;
    }
    client.joined = std::move(*joined);
    on_joined(client);
  }
}

void Job::add_late(protocol::LateOutOfMemory late) {
  const auto client = std::ranges::find_if(clients_, [&](const Client& one) {
    return one.inbox != nullptr && one.joined.has_value() && one.joined->pid == late.pid;
  });
  if (client != clients_.end()) {
    client->inbox->add_late(std::move(late));
  }
}

void Job::on_joined(Client& client) {
  if (!is_recorded(*client.joined)) {
    boost::system::error_code gone;
    asio::write(client.socket, asio::buffer(protocol::encode_message(protocol::not_recorded_message())), gone);
    close(client);
    return;
  }
  if (auto problem = unsupported(client.joined->environment)) {
    refuse(client, std::move(*problem));
    return;
  }
  if (has_agent(options_.cache, client.joined->environment)) {
    answer(client);
    return;
  }
  waiting_.push_back(&client);
  if (waiting_.size() == 1) {
    build_for(client);
  }
}

/// The processes of a job mostly need the same agent. Those that need another one wait until this one is built.
void Job::build_for(Client& client) {
  const protocol::WorkerEnvironment& environment = client.joined->environment;
  listener_.on_job_note("building the agent for torch " + environment.torch + ", once");
  report("build", 0, "Building the agent for torch " + environment.torch + ", once");
  built_agent_ = agent_path(options_.cache, environment);
  builder_.start(environment, sources_, options_.cache);
}

void Job::on_build_end(const std::optional<protocol::Failure>& failure) {
  // Not from within the builder, which builds the next one.
  asio::post(loop_, lifetime_.guard([this, failure, agent = built_agent_] {
    for (Client* one : std::exchange(waiting_, {})) {
      if (failure.has_value() && agent_path(options_.cache, one->joined->environment) == agent) {
        refuse(*one, *failure);
      } else {
        on_joined(*one);
      }
    }
  }));
}

bool Job::is_recorded(const protocol::Joined& joined) const {
  return options_.ranks.empty() || std::ranges::binary_search(options_.ranks, joined.rank);
}

void Job::answer(Client& client) {
  const protocol::Joined& joined = *client.joined;
  protocol::JobSpec spec = options_.spec;
  spec.agree_steps = joined.ranks > 1;
  if (spec.agree_steps) {
    client.number = ++agreeing_;
    const auto wanted = std::ranges::count_if(options_.ranks, [&](int rank) { return rank < joined.ranks; });
    const int ranks =
        options_.ranks.empty() ? joined.local_ranks : std::min(static_cast<int>(wanted), joined.local_ranks);
    for (Agreement* agreement : {&recording_, &end_}) {
      agreement->steps.join(client.number);
      agreement->steps.expect(ranks);
    }
  }
  client.inbox = std::make_unique<RunInbox>(kRecordingBytes, client);
  boost::system::error_code gone;
  const std::string path = agent_path(options_.cache, joined.environment);
  report("load", 0.1, "Waiting for training steps");
  asio::write(client.socket, asio::buffer(protocol::encode_message(protocol::join_message(path, spec))), gone);
}

void Job::ready(int number, const protocol::ReadyToRecord& ready) {
  Agreement& agreement = ready.ends ? end_ : recording_;
  agreement.steps.ready(number, ready, now_ns());
  decide(agreement);
}

void Job::decide(Agreement& agreement) {
  agreement.timer.cancel();
  const auto steps = agreement.steps.decide(now_ns());
  if (!steps.has_value()) {
    if (const auto due = agreement.steps.due_ns()) {
      agreement.timer.expires_at(Clock::time_point(std::chrono::nanoseconds(*due)));
      agreement.timer.async_wait(lifetime_.guard([this, &agreement](const boost::system::error_code& error) {
        if (!error) {
          decide(agreement);
        }
      }));
    }
    return;
  }
  if (const int missing = agreement.steps.missing(); missing > 0 && &agreement == &recording_) {
    listener_.on_job_note(
        fmt::format("{} of the ranks {} not taken enough training steps to be recorded with the others", missing,
                    missing == 1 ? "has" : "have"));
  }
  const std::string message = protocol::encode_message(protocol::record_steps_message(*steps));
  for (Client& client : clients_) {
    if (client.open && client.number > 0 && agreement.steps.is_ready(client.number)) {
      boost::system::error_code gone;
      asio::write(client.socket, asio::buffer(message), gone);
    }
  }
}

/// The process goes on without us.
void Job::refuse(Client& client, protocol::Failure problem) {
  client.failure = std::move(problem);
  close(client);
}

void Job::close(Client& client) {
  if (client.open) {
    client.open = false;
    boost::system::error_code ignored;
    client.socket.close(ignored);
    if (client.number > 0) {
      for (Agreement* agreement : {&recording_, &end_}) {
        agreement->steps.leave(client.number);
        decide(*agreement);
      }
    }
    if (client.inbox != nullptr && client.inbox->has_final_result() && std::ranges::none_of(clients_, &Client::open)) {
      expect_end();
    }
    end_when_quiet();
  }
}

void Job::on_command_ended(int status) {
  status_ = status;
  end_timer_.cancel();
  limit_.cancel();
  if (options_.in_background) {
    signal_group(process_, SIGKILL);  // what it left behind
  }
  for (Client& client : clients_) {
    if (cancelled_) {
      close(client);
    }
  }
  patience_.expires_after(kPatience);
  patience_.async_wait(lifetime_.guard([this](const boost::system::error_code& error) {
    if (!error) {
      for (Client& client : clients_) {
        close(client);
      }
      end_when_quiet();
    }
  }));
  end_when_quiet();
}

void Job::end_when_quiet() {
  if (!status_.has_value() || ended_ || std::ranges::any_of(clients_, &Client::open)) {
    return;
  }
  patience_.cancel();
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  JobEnd end{*status_, {}, false, output_ == nullptr ? "" : output_->tail(), false, guard_report(), timed_out_};
  for (Client& client : clients_) {
    if (client.joined.has_value()) {
      end.joined = true;
      JobProcess process = taken(client);
      const auto* problem = std::get_if<protocol::Failure>(&process.outcome);
      if (problem == nullptr || !problem->message.empty() || options_.spec.experiment.has_value()) {
        end.processes.push_back(std::move(process));
      }
    }
  }
  std::ranges::stable_sort(end.processes, {}, [](const JobProcess& one) { return one.joined.rank; });
  ended_ = true;
  listener_.on_job_end(std::move(end));
}

Report Job::guard_report() const {
  const auto text = base::read_text(folder_ + "/" + kReportFile, kMostReportBytes);
  return text ? parse_report(*text).value_or(Report()) : Report();
}

/// With a failure without a message for a process that did not train.
JobProcess Job::taken(Client& client) const {
  JobProcess process{*client.joined, protocol::Failure{}};
  if (client.inbox != nullptr && options_.spec.experiment.has_value()) {
    process.findings = client.inbox->take_findings();
  }
  if (client.inbox != nullptr && !client.inbox->batches().empty()) {
    const protocol::Failure ended =
        start_failure(FailureKind::kProcessDied, "The script ended before the steps were recorded and timed.");
    auto measured = client.inbox->has_final_result() && !client.failure
                        ? client.inbox->take_measured()
                        : client.inbox->take_measured_until(client.failure.value_or(ended), options_.spec.project_root);
    if (measured.has_value()) {
      process.outcome = RunOutput{std::move(*measured), client.joined->environment};
      return process;
    }
  }
  if (client.inbox != nullptr && client.inbox->runner_failure()) {
    process.outcome = *client.inbox->runner_failure();
    process.out_of_memory = client.inbox->take_out_of_memory();
  } else if (client.failure.has_value()) {
    process.outcome = *client.failure;
  } else if (client.number > 0) {
    process.outcome = start_failure(FailureKind::kProcessDied,
                                    fmt::format("Rank {} (process {}) ended before its training steps were recorded.",
                                                client.joined->rank, client.joined->pid));
  }
  return process;
}

}  // namespace ridgeline::worker
