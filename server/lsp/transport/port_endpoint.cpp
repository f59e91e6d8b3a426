// `--socket`: a TCP port of this machine.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "base/errno_text.h"
#include "lsp/transport/acceptor.h"
#include "lsp/transport/endpoint.h"
#include "lsp/transport/stream_transport.h"

namespace ridgeline::lsp {

namespace {

sockaddr_in address_of(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Messages are small, and the other side waits for each.
void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

std::string content_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<uid_t> users_listening_on(std::uint16_t port) {
  std::vector<uid_t> users = listening_users(content_of("/proc/net/tcp"), port);
  const std::vector<uid_t> more = listening_users(content_of("/proc/net/tcp6"), port);
  users.insert(users.end(), more.begin(), more.end());
  return users;
}

/// Whoever listens on the port could run code as this user, so it must be a process of this user. Empty when it is, or
/// when nobody listens.
std::string check_listeners(std::uint16_t port) {
  const std::vector<uid_t> users = users_listening_on(port);
  const auto stranger = std::find_if(users.begin(), users.end(), [](uid_t user) { return user != ::geteuid(); });
  return stranger == users.end() ? ""
                                 : "user " + std::to_string(*stranger) + " listens on port " + std::to_string(port) +
                                       ": not connecting to it; choose another port";
}

class PortListener : public Listener {
 public:
  PortListener(std::uint16_t port, std::shared_ptr<Acceptor> acceptor) : port_(port), acceptor_(std::move(acceptor)) {
    acceptor_->start();
  }
  ~PortListener() override { acceptor_->stop(); }
  PortListener(const PortListener&) = delete;
  PortListener& operator=(const PortListener&) = delete;
  std::uint16_t port() const override { return port_; }

 private:
  std::uint16_t port_;
  std::shared_ptr<Acceptor> acceptor_;
};

Endpoint listen_on(boost::asio::io_context& loop, std::uint16_t port, ListenerHandlers handlers) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address = address_of(port);
  socklen_t size = sizeof(address);
  if (socket < 0 || ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket, SOMAXCONN) != 0 || ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    EndpointProblem problem{base::with_errno("cannot listen on port " + std::to_string(port))};
    ::close(socket);
    return problem;
  }
  const auto check = [](int client) {
    send_at_once(client);
    return std::string();  // whoever connects is authenticated by its token
  };
  return std::make_unique<PortListener>(ntohs(address.sin_port),
                                        std::make_shared<Acceptor>(loop, socket, check, std::move(handlers)));
}

/// The text as a hexadecimal number; nothing when it is not one.
std::optional<unsigned> hex(std::string_view text) {
  unsigned value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return problem == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::vector<uid_t> listening_users(std::string_view table, std::uint16_t port) {
  // sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid ...
  std::vector<uid_t> users;
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    const std::vector<std::string> columns{std::istream_iterator<std::string>(fields), {}};
    if (columns.size() < 8 || columns[3] != "0A" || columns[1].find(':') == std::string::npos) {
      continue;
    }
    const std::string_view local = columns[1];
    if (hex(local.substr(local.find(':') + 1)) != port) {
      continue;
    }
    uid_t user = 0;
    const std::string& digits = columns[7];
    if (std::from_chars(digits.data(), digits.data() + digits.size(), user).ec == std::errc()) {
      users.push_back(user);
    }
  }
  return users;
}

Endpoint open_port(boost::asio::io_context& loop, std::uint16_t port, ListenerHandlers handlers) {
  if (port == 0 || users_listening_on(port).empty()) {
    return listen_on(loop, port, std::move(handlers));
  }
  if (std::string problem = check_listeners(port); !problem.empty()) {
    return EndpointProblem{std::move(problem)};
  }
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = address_of(port);
  // On the same machine this is accepted or refused at once.
  if (socket < 0 || ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int problem = errno;
    ::close(socket);
    return problem == ECONNREFUSED
               ? listen_on(loop, port, std::move(handlers))
               : EndpointProblem{base::with_errno("cannot connect to port " + std::to_string(port), problem)};
  }
  // Check again, in case another process has taken the port meanwhile. VS Code's client stops listening once we are
  // connected.
  if (std::string problem = check_listeners(port); !problem.empty()) {
    ::close(socket);
    return EndpointProblem{std::move(problem)};
  }
  send_at_once(socket);
  return std::shared_ptr<Transport>(std::make_shared<StreamTransport>(loop, socket, socket));
}

}  // namespace ridgeline::lsp
