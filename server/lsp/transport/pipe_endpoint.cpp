// `--pipe`: a Unix socket.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/errno_text.h"
#include "base/lock_file.h"
#include "lsp/transport/acceptor.h"
#include "lsp/transport/endpoint.h"
#include "lsp/transport/stream_transport.h"

namespace ridgeline::lsp {

namespace {

namespace fs = std::filesystem;

/// Why the process at the other end may not connect; empty when it may.
std::string check_user(int socket) {
  ucred other{};
  socklen_t size = sizeof(other);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0) {
    return base::with_errno("cannot determine the user of a process that connects");
  }
  if (other.uid != ::geteuid()) {
    return "refused process " + std::to_string(other.pid) + " of user " + std::to_string(other.uid) +
           ": only processes of user " + std::to_string(::geteuid()) + " may connect";
  }
  return {};
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int new_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

/// Creates the missing folders, for this user only. Returns why the socket cannot be in its folder; empty when it can.
std::string prepare_folder(const fs::path& folder) {
  fs::path made;
  for (const fs::path& part : folder) {
    made /= part;
    if (::mkdir(made.c_str(), 0700) != 0 && errno != EEXIST && !fs::is_directory(made)) {
      return base::with_errno("cannot make the folder " + made.string());
    }
  }
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return folder.string() + " is not a usable folder";
  }
  const bool ours = status.st_uid == ::geteuid() || status.st_uid == 0;
  const bool shared = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0;
  return ours && !shared ? "" : "others can replace what is in " + folder.string() + ": use a folder of your own";
}

/// The result of an attempt to connect.
enum class Answer { kConnected, kNobody, kNoSocket, kProblem };

Answer try_to_connect(const std::string& path, int& socket, EndpointProblem& problem) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    problem = EndpointProblem{base::with_errno("cannot inspect " + path)};
    return errno == ENOENT ? Answer::kNoSocket : Answer::kProblem;
  }
  if (!S_ISSOCK(status.st_mode)) {
    problem = {path + " exists and is not a socket: remove it, or name another path"};
    return Answer::kProblem;
  }
  socket = new_socket();
  const sockaddr_un address = address_of(path);
  if (socket >= 0 && ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    problem.what = check_user(socket);
    return problem.what.empty() ? Answer::kConnected : Answer::kProblem;
  }
  problem = EndpointProblem{base::with_errno("cannot connect to " + path)};
  return errno == ECONNREFUSED ? Answer::kNobody : Answer::kProblem;
}

class PipeListener : public Listener {
 public:
  PipeListener(std::string path, base::LockFile lock, std::shared_ptr<Acceptor> acceptor)
      : path_(std::move(path)), lock_(std::move(lock)), acceptor_(std::move(acceptor)) {
    ::lstat(path_.c_str(), &bound_);
    acceptor_->start();
  }
  ~PipeListener() override {
    acceptor_->stop();
    struct stat now {};
    if (::lstat(path_.c_str(), &now) == 0 && now.st_ino == bound_.st_ino && now.st_dev == bound_.st_dev) {
      ::unlink(path_.c_str());
    }
  }
  PipeListener(const PipeListener&) = delete;
  PipeListener& operator=(const PipeListener&) = delete;

 private:
  std::string path_;
  base::LockFile lock_;
  std::shared_ptr<Acceptor> acceptor_;
  struct stat bound_ {};
};

Endpoint listen_at(boost::asio::io_context& loop, const std::string& path, base::LockFile lock,
                   ListenerHandlers handlers) {
  const int socket = new_socket();
  const sockaddr_un address = address_of(path);
  const mode_t mask = ::umask(0177);  // 0600 from the first moment on; no other thread makes files now
  const bool bound = socket >= 0 && ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  ::umask(mask);
  if (!bound || ::listen(socket, SOMAXCONN) != 0) {
    EndpointProblem problem{base::with_errno("cannot listen at " + path)};
    ::close(socket);
    return problem;
  }
  auto acceptor = std::make_shared<Acceptor>(loop, socket, check_user, std::move(handlers));
  return std::make_unique<PipeListener>(path, std::move(lock), std::move(acceptor));
}

/// Why a socket cannot have this path; empty when it can.
std::string check_length(const std::string& path) {
  constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
  const bool fits = !path.empty() && path.size() <= kMost;
  return fits ? "" : "the path of a socket must have at most " + std::to_string(kMost) + " bytes: " + path;
}

}  // namespace

std::variant<std::shared_ptr<Transport>, EndpointProblem> join_pipe(boost::asio::io_context& loop,
                                                                    const std::string& path) {
  if (auto problem = check_length(path); !problem.empty()) {
    return EndpointProblem{std::move(problem)};
  }
  int socket = -1;
  EndpointProblem problem;
  const Answer answer = try_to_connect(path, socket, problem);
  if (answer == Answer::kConnected) {
    return std::make_shared<StreamTransport>(loop, socket, socket);
  }
  if (socket >= 0) {
    ::close(socket);
  }
  if (answer == Answer::kProblem) {
    return problem;
  }
  return std::shared_ptr<Transport>();
}

Endpoint open_pipe(boost::asio::io_context& loop, const std::string& path, ListenerHandlers handlers) {
  if (auto problem = check_length(path); !problem.empty()) {
    return EndpointProblem{std::move(problem)};
  }
  const fs::path folder = fs::path(path).parent_path();
  if (std::string problem = prepare_folder(folder.empty() ? "." : folder); !problem.empty()) {
    return EndpointProblem{std::move(problem)};
  }
  auto lock = base::LockFile::take(path + ".lock", std::to_string(::getpid()));
  if (const auto* held = std::get_if<base::LockFile::Held>(&lock)) {
    return EndpointProblem{"another ridgeline daemon (process " + held->by + ") listens at " + path +
                           ": connect to it, end it, or name another path"};
  }
  if (const auto* problem = std::get_if<base::LockFile::Problem>(&lock)) {
    return EndpointProblem{problem->what};
  }
  int socket = -1;
  EndpointProblem problem;
  switch (try_to_connect(path, socket, problem)) {
    case Answer::kConnected:
      return std::shared_ptr<Transport>(std::make_shared<StreamTransport>(loop, socket, socket));
    case Answer::kNobody:
      ::close(socket);
      ::unlink(path.c_str());
      break;
    case Answer::kNoSocket:
      break;
    case Answer::kProblem:
      if (socket >= 0) {
        ::close(socket);
      }
      return problem;
  }
  return listen_at(loop, path, std::move(std::get<base::LockFile>(lock)), std::move(handlers));
}

}  // namespace ridgeline::lsp
