#include "worker/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "base/errno_text.h"

namespace ridgeline::worker {

namespace {

/// The limit of descriptors that we were started with, once it was raised.
std::optional<rlimit>& first_descriptor_limit() {
  static std::optional<rlimit> limit;
  return limit;
}

/// Between fork and exec: only async-signal-safe calls. Never returns.
[[noreturn]] void become(const SpawnOptions& options, char* const* arguments, char* const* environment, int report,
                         int null, pid_t parent, const rlimit* descriptors) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(127);  // it ended before the line above
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int signal = 1; signal < NSIG; ++signal) {
    ::signal(signal, SIG_DFL);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (descriptors != nullptr) {
    ::setrlimit(RLIMIT_NOFILE, descriptors);
  }
  // Move everything out of the way of the numbers that are wanted, then into place.
  int highest = 2;
  for (const auto& [ours, theirs] : options.descriptors) {
    highest = std::max(highest, theirs);
  }
  const int moved_report = ::fcntl(report, F_DUPFD_CLOEXEC, highest + 1);
  int moved[8];
  std::size_t count = 0;
  for (const auto& [ours, theirs] : options.descriptors) {
    if (count < std::size(moved)) {
      moved[count++] = ::fcntl(ours, F_DUPFD_CLOEXEC, highest + 1);
    }
  }
  for (int standard = 0; standard <= 2; ++standard) {
    ::dup2(null, standard);
  }
  // Whatever else is open is close-on-exec by our own rule; libraries may not follow it. The copies made next are not.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  for (std::size_t i = 0; i < count; ++i) {
    ::dup2(moved[i], options.descriptors[i].second);
  }
  if (options.folder.empty() || ::chdir(options.folder.c_str()) == 0) {
    ::execvpe(arguments[0], arguments, environment);
  }
  const int problem = errno;
  [[maybe_unused]] const ssize_t written = ::write(moved_report, &problem, sizeof(problem));
  ::_exit(127);
}

/// The errno that exec left, whose success closes the pipe; 0. Reaps the child that could not run.
int exec_problem(pid_t child, Descriptor problem_read) {
  int problem = 0;
  ssize_t got = 0;
  do {
    got = ::read(problem_read.get(), &problem, sizeof(problem));
  } while (got < 0 && errno == EINTR);
  if (got != sizeof(problem)) {
    return 0;
  }
  ::waitpid(child, nullptr, 0);
  return problem;
}

/// Between fork and exec, with all signals blocked. Never returns.
[[noreturn]] void become_foreground(char* const* arguments, char* const* environment, const Descriptor& null,
                                    bool discards_output, int report, pid_t parent, const sigset_t& mask) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) {
    ::_exit(127);  // it ended before the line above
  }
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    // What is ignored stays so for a command, as a shell's does, but for what we ignore ourselves.
    if (::sigaction(signal, nullptr, &action) == 0 && (action.sa_handler != SIG_IGN || signal == SIGXFSZ)) {
      ::signal(signal, SIG_DFL);
    }
  }
  if (discards_output) {
    for (int standard = 0; standard <= 2; ++standard) {
      ::dup2(null.get(), standard);
    }
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvpe(arguments[0], arguments, environment);
  const int problem = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &problem, sizeof(problem));
  ::_exit(127);
}

}  // namespace

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));  // NOLINT(cppcoreguidelines-pro-type-const-cast): exec
  }
  pointers.push_back(nullptr);
  return pointers;
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Descriptor::reset() {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

std::pair<Descriptor, Descriptor> socket_pair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return {};
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::pair<Descriptor, Descriptor> pipe_pair() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return {};
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) {
    return;
  }
  const rlimit first = limit;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0 && !first_descriptor_limit().has_value()) {
    first_descriptor_limit() = first;
  }
}

base::Result<pid_t> spawn(const SpawnOptions& options) {
  const std::vector<char*> arguments = pointers_to(options.arguments);
  const std::vector<char*> variables = pointers_to(options.environment);
  auto [problem_read, problem_write] = pipe_pair();
  const Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const pid_t parent = ::getpid();
  const rlimit* descriptors = first_descriptor_limit().has_value() ? &*first_descriptor_limit() : nullptr;
  const pid_t child = problem_read.get() < 0 || null.get() < 0 ? -1 : ::fork();
  if (child < 0) {
    return base::error(base::with_errno("cannot start a process"));
  }
  if (child == 0) {
    become(options, arguments.data(), options.environment.empty() ? environ : variables.data(), problem_write.get(),
           null.get(), parent, descriptors);
  }
  ::setpgid(child, child);
  problem_write.reset();
  if (const int problem = exec_problem(child, std::move(problem_read)); problem != 0) {
    return base::error(base::with_errno("cannot run " + options.arguments[0], problem));
  }
  return child;
}

base::Result<pid_t> spawn_in_foreground(const std::vector<std::string>& arguments,
                                        const std::vector<std::string>& environment, bool discards_output) {
  const std::vector<char*> words = pointers_to(arguments);
  const std::vector<char*> variables = pointers_to(environment);
  auto [problem_read, problem_write] = pipe_pair();
  const Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const pid_t parent = ::getpid();
  sigset_t all;
  sigset_t mask;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &mask);  // a handler of ours must not run in the child
  const pid_t child = problem_read.get() < 0 || null.get() < 0 ? -1 : ::fork();
  if (child == 0) {
    become_foreground(words.data(), variables.data(), null, discards_output, problem_write.get(), parent, mask);
  }
  int problem = child < 0 ? errno : 0;
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  problem_write.reset();
  if (problem == 0) {
    problem = exec_problem(child, std::move(problem_read));
  }
  return problem == 0 ? base::Result<pid_t>(child) : base::error(std::generic_category().message(problem));
}

std::size_t send_with_descriptors(int socket, const std::string& text, const std::vector<int>& descriptors) {
  iovec data{const_cast<char*>(text.data()), text.size()};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
  }
  return static_cast<std::size_t>(std::max<ssize_t>(0, ::sendmsg(socket, &message, MSG_NOSIGNAL)));
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return std::string("was ended by signal ") + std::to_string(signal) + " (" + ::strsignal(signal) + ")" +
           (signal == SIGKILL
                ? "; the system does that when memory runs out: try a smaller batch size, or --memory-limit"
                : "");
  }
  return "ended by itself with exit code " + std::to_string(WEXITSTATUS(status));
}

bool ends_within(pid_t child, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    siginfo_t end{};
    const int result = ::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOHANG | WNOWAIT);
    if (result != 0 || end.si_pid == child) {
      return true;
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void signal_group(pid_t group, int signal) {
  if (group > 1 && group != ::getpgrp()) {
    ::kill(-group, signal);
  }
}

Reaper::Reaper(boost::asio::io_context& loop) : signals_(loop, SIGCHLD) { wait_for_signal(); }

void Reaper::watch(pid_t child, std::function<void(int)> handler) {
  handlers_.insert_or_assign(child, std::move(handler));
  // It may have ended before we listened. Not from here: the caller is not ready for its handler yet.
  boost::asio::post(signals_.get_executor(), [this] { reap(); });
}

void Reaper::close() { signals_.cancel(); }

void Reaper::wait_for_signal() {
  signals_.async_wait([this](const boost::system::error_code& error, int /*signal*/) {
    if (!error) {
      reap();
      wait_for_signal();
    }
  });
}

void Reaper::reap() {
  // One at a time: a handler may replace the handler of a child that has ended as well.
  for (auto entry = handlers_.begin(); entry != handlers_.end();) {
    const pid_t child = entry->first;
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) != child) {
      ++entry;
      continue;
    }
    const std::function<void(int)> handler = std::move(entry->second);
    handlers_.erase(entry);
    handler(status);
    entry = handlers_.upper_bound(child);
  }
}

}  // namespace ridgeline::worker
