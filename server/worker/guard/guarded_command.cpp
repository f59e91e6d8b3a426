#include "worker/guard/guarded_command.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/errno_text.h"
#include "base/file.h"
#include "base/path.h"
#include "worker/guard/call_reader.h"
#include "worker/guard/guard_report.h"
#include "worker/guard/landlock.h"
#include "worker/guard/writable_paths.h"

namespace ridgeline::worker {

namespace {

using Clock = std::chrono::steady_clock;

/// After the command's end, for processes that it has left behind.
constexpr std::chrono::seconds kRemains{5};
constexpr int kNotStarted = 127;

/// What the new process sends before it becomes the command: with the descriptor of its notifications, or with errno.
struct Hello {
  int error = 0;
};

/// Services of this machine that only answer, and what a device is used through.
constexpr auto kServices =
    std::to_array<const char*>({"/run/nscd", "/run/systemd/resolve", "/run/nvidia-persistenced", "/tmp/nvidia-mps"});

// ---- In the new process, between fork and exec ------------------------------------------------------------------

/// What the user's shell left open for writing would be written again.
void close_what_is_written() {
  std::vector<int> written;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", problem)) {
    const std::string name = entry.path().filename();
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    const int flags = descriptor > STDERR_FILENO ? ::fcntl(descriptor, F_GETFL) : -1;
    const int own = flags >= 0 ? ::fcntl(descriptor, F_GETFD) : FD_CLOEXEC;
    if ((own & FD_CLOEXEC) == 0 && (flags & O_ACCMODE) != O_RDONLY) {
      written.push_back(descriptor);
    }
  }
  for (const int descriptor : written) {
    ::close(descriptor);
  }
}

/// The descriptor of the notifications; -1 with errno.
int install_filter() {
  std::vector<sock_filter> text = notifying_filter();
  const sock_fprog program{static_cast<unsigned short>(text.size()), text.data()};
  return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

void send_hello(int socket, const Hello& hello, int descriptor) {
  iovec data{const_cast<Hello*>(&hello), sizeof(hello)};  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

[[noreturn]] void become(const std::vector<std::string>& command, const WritablePaths& writable, int socket) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGINT, SIG_DFL);
  close_what_is_written();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  restrict_writes(writable);
  const int listener = install_filter();
  send_hello(socket, {listener < 0 ? errno : 0}, listener);
  char begins = 0;
  if (listener >= 0 && ::recv(socket, &begins, 1, 0) == 1) {
    ::close(listener);
    std::vector<char*> arguments;
    for (const std::string& word : command) {
      arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT(cppcoreguidelines-pro-type-const-cast): exec
    }
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
  }
  ::_exit(kNotStarted);
}

// ---- In ours ----------------------------------------------------------------------------------------------------

/// Waits for it; -1 where none came.
int receive_hello(int socket, Hello& hello) {
  iovec data{&hello, sizeof(hello)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count = 0;
  do {
    count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof(hello)) {
    hello = {ECHILD};
    return -1;
  }
  int descriptor = -1;
  if (const cmsghdr* const header = CMSG_FIRSTHDR(&message); header != nullptr) {
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  }
  return descriptor;
}

/// The processes whose parent we are.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", problem)) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), process).ec != std::errc()) {
      continue;
    }
    std::ifstream file(entry.path() / "stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(')');  // a name may hold anything
    const std::string parent =
        name_end == std::string::npos || name_end + 4 > line.size() ? "" : line.substr(name_end + 4);
    pid_t number = 0;
    std::from_chars(parent.data(), parent.data() + parent.size(), number);
    if (number == ::getpid()) {
      found.push_back(process);
    }
  }
  return found;
}

/// The kernel's structure may be longer than the one that we know.
template <typename T>
struct Roomy {
  T value{};
  std::array<char, 512> room{};
};

class Guard {
 public:
  Guard(pid_t command, int listener, std::string folder, WritablePaths writable)
      : command_(command), listener_(listener), folder_(std::move(folder)), writable_(std::move(writable)) {}

  int run() {
    const int signals = signal_descriptor();
    while (!over_) {
      std::array<pollfd, 2> waiting = {pollfd{listener_, POLLIN, 0}, pollfd{signals, POLLIN, 0}};
      ::poll(waiting.data(), waiting.size(), until_deadline_ms());
      if ((waiting[0].revents & POLLIN) != 0) {
        answer_next();
      }
      if ((waiting[0].revents & POLLHUP) != 0) {
        listener_ = -1;  // no process is left that could call
      }
      signalfd_siginfo signal{};
      if ((waiting[1].revents & POLLIN) != 0 && ::read(signals, &signal, sizeof(signal)) == sizeof(signal) &&
          signal.ssi_signo != SIGCHLD) {
        end_all();
      }
      reap();
      if (deadline_ && Clock::now() > *deadline_) {
        end_all();
      }
    }
    return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
  }

  const Report& report() const { return report_; }

 private:
  static int signal_descriptor() {
    sigset_t ours;
    ::sigemptyset(&ours);
    for (const int signal : {SIGCHLD, SIGTERM, SIGHUP}) {
      ::sigaddset(&ours, signal);
    }
    return ::signalfd(-1, &ours, SFD_CLOEXEC);
  }

  int until_deadline_ms() const {
    if (!deadline_) {
      return -1;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*deadline_ - Clock::now());
    return static_cast<int>(std::max<std::chrono::milliseconds::rep>(0, left.count() + 1));
  }

  void reap() {
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0) {
      note_end(ended, status);
    }
    over_ = over_ || (ended < 0 && errno == ECHILD);
  }

  void note_end(pid_t process, int status) {
    if (process == command_) {
      status_ = status;
      deadline_ = Clock::now() + kRemains;
    }
  }

  /// Kills what there is until nothing is left: orphans become children of ours.
  void end_all() {
    for (;;) {
      for (const pid_t process : children()) {
        ::kill(process, SIGKILL);
      }
      int status = 0;
      const pid_t ended = ::waitpid(-1, &status, 0);
      if (ended < 0 && errno == ECHILD) {
        break;
      }
      note_end(ended, status);
    }
    over_ = true;
  }

  void answer_next() {
    Roomy<seccomp_notif> received;
    if (::ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &received) != 0) {
      return;  // it has ended meanwhile
    }
    const seccomp_notif& notification = received.value;
    const SystemCall* const call = system_call(notification.data.nr);
    if (call == nullptr) {
      respond(notification, ENOSYS);
    } else if (call->reads == Reads::kAddress) {
      answer_address(notification, *call);
    } else {
      answer_paths(notification, *call);
    }
  }

  void answer_paths(const seccomp_notif& notification, const SystemCall& call) {
    const auto attempts = read_attempts(notification, call);
    if (::ioctl(listener_, SECCOMP_IOCTL_NOTIF_ID_VALID, &notification.id) != 0) {
      return;  // what was read may be another process's
    }
    if (!attempts) {
      end_at("a file whose name cannot be read", call);
    } else {
      answer(notification, call, *attempts);
    }
  }

  void answer(const seccomp_notif& notification, const SystemCall& call, const std::vector<Attempt>& attempts) {
    const Verdict verdict = judge(attempts, writable_);
    if (verdict == Verdict::kAllow) {
      respond(notification, 0);
      return;
    }
    const auto worst = std::ranges::find_if(attempts, [&](const Attempt& one) {
      return judge({&one, 1}, writable_) == verdict;
    });
    const std::string& path = (worst == attempts.end() ? attempts.back() : *worst).target.path;
    if (verdict == Verdict::kEnd) {
      end_at(path, call);
      return;
    }
    if (report_.refused.empty()) {
      report_.refused = path;
    }
    respond(notification, call.second.path == kNone ? EROFS : EXDEV);
  }

  void answer_address(const seccomp_notif& notification, const SystemCall& call) {
    const auto address = read_address(notification, call);
    if (::ioctl(listener_, SECCOMP_IOCTL_NOTIF_ID_VALID, &notification.id) != 0) {
      return;
    }
    const bool binds = std::string_view(call.name) == "bind";
    if (!address || (binds && !address->is_path)) {
      respond(notification, 0);
    } else if (binds) {
      const std::array<Attempt, 1> attempt = {{{Change::kMake, 0, {address->text, Found::kNothing, true}}}};
      answer(notification, call, {attempt.begin(), attempt.end()});
    } else if (may_connect(*address)) {
      respond(notification, 0);
    } else {
      if (report_.connection.empty()) {
        report_.connection = address->text;
      }
      respond(notification, address->is_path ? EACCES : ENETUNREACH);
    }
  }

  bool may_connect(const Address& address) const {
    if (!address.is_path) {
      return address.is_near;
    }
    struct stat status {};
    const auto is_around = [&](const std::string& folder) { return base::is_below(address.text, folder); };
    return is_around(folder_) || std::ranges::any_of(kServices, is_around) ||
           ::stat(address.text.c_str(), &status) != 0;
  }

  void end_at(const std::string& path, const SystemCall& call) {
    report_.ended_at = path;
    report_.call = call.name;
    end_all();
  }

  /// 0: the call is made.
  void respond(const seccomp_notif& notification, int error) const {
    Roomy<seccomp_notif_resp> response;
    response.value.id = notification.id;
    response.value.error = -error;
    response.value.flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
    ::ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &response);
  }

  pid_t command_;
  int listener_;
  std::string folder_;
  WritablePaths writable_;
  Report report_;
  int status_ = 0;
  bool over_ = false;
  std::optional<Clock::time_point> deadline_;
};

/// As our own process is from now on: the parent of all orphans, with signals that are waited for.
void become_guard() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::signal(SIGINT, SIG_IGN);  // it is the command's
  sigset_t waited;
  ::sigemptyset(&waited);
  for (const int signal : {SIGCHLD, SIGTERM, SIGHUP}) {
    ::sigaddset(&waited, signal);
  }
  ::sigprocmask(SIG_BLOCK, &waited, nullptr);
}

void leave_report(const std::string& folder, const Report& report) {
  base::write_atomically(folder + "/" + kReportFile, report_text(report), base::FileAccess::kOwner,
                         base::Durability::kNone);
}

int fail(const std::string& folder, const std::string& why) {
  leave_report(folder, {.unavailable = why});
  return kNotStarted;
}

}  // namespace

int run_guarded(const std::vector<std::string>& command, const std::string& folder) {
  std::error_code problem;
  const std::string real = std::filesystem::canonical(folder, problem).string();
  const std::string temporary = real + "/tmp";
  if (problem || (::mkdir(temporary.c_str(), S_IRWXU) != 0 && errno != EEXIST)) {
    return fail(folder, base::with_errno("cannot make " + temporary));
  }
  for (const char* const name : {"TMPDIR", "TEMP", "TMP"}) {
    ::setenv(name, temporary.c_str(), 1);
  }
  ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  const WritablePaths writable = writable_paths(temporary);
  become_guard();
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return fail(real, base::with_errno("cannot make a socket"));
  }
  const pid_t child = ::fork();
  if (child == 0) {
    become(command, writable, sockets[1]);
  }
  ::close(sockets[1]);
  Hello hello{errno};
  const int listener = child > 0 ? receive_hello(sockets[0], hello) : -1;
  if (listener < 0) {
    return fail(real, base::with_errno("seccomp cannot notify of system calls here", hello.error));
  }
  if (!can_read_memory(child)) {
    ::close(sockets[0]);  // it ends without a command
    return fail(real,
                "the kernel does not let one process read the memory of another (process_vm_readv), and so which file "
                "a script opens; in Docker, --cap-add SYS_PTRACE lets it");
  }
  ::send(sockets[0], "", 1, MSG_NOSIGNAL);
  Guard guard(child, listener, real, writable);
  const int code = guard.run();
  leave_report(real, guard.report());
  return code;
}

}  // namespace ridgeline::worker
