#include "lsp/transport/endpoint.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "lsp/transport/framing.h"
#include "tests/unit/lsp/transport/places.h"

namespace ridgeline::lsp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;
using testing::run_until;
using testing::TemporaryFolder;

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

int connect_to(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = unix_address(path);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(socket);
    return -1;
  }
  return socket;
}

int listen_at(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = unix_address(path);
  EXPECT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::listen(socket, 1), 0);
  return socket;
}

int connect_to(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return socket;
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

struct Opened {
  boost::asio::io_context loop;
  std::vector<std::shared_ptr<Transport>> clients;

  ListenerHandlers handlers() {
    return {[this](std::shared_ptr<Transport> client) { clients.push_back(std::move(client)); },
            [](const std::string& reason) { ADD_FAILURE() << reason; }};
  }
  std::unique_ptr<Listener> listen(const std::string& path) {
    Endpoint endpoint = open_pipe(loop, path, handlers());
    auto* listener = std::get_if<std::unique_ptr<Listener>>(&endpoint);
    EXPECT_NE(listener, nullptr) << problem(endpoint);
    return listener == nullptr ? nullptr : std::move(*listener);
  }
  static std::string problem(const Endpoint& endpoint) {
    const auto* found = std::get_if<EndpointProblem>(&endpoint);
    return found == nullptr ? "" : found->what;
  }
  std::string problem_at(const std::string& path) { return problem(open_pipe(loop, path, handlers())); }
};

TEST(Pipe, IsOpenToItsUserOnlyAndGoesAwayAgain) {
  const TemporaryFolder folder;
  Opened opened;
  const std::string path = folder / "made/deeper/socket";
  auto listener = opened.listen(path);
  EXPECT_EQ(mode_of(folder / "made"), 0700U);
  EXPECT_EQ(mode_of(folder / "made/deeper"), 0700U);
  EXPECT_EQ(mode_of(path), 0600U);
  const int client = connect_to(path);
  EXPECT_TRUE(run_until(opened.loop, [&] { return opened.clients.size() == 1; }));
  ::close(client);
  listener.reset();
  EXPECT_TRUE(fs::is_empty(folder / "made/deeper"));
}

TEST(Pipe, PassesNoDescriptorOn) {
  const TemporaryFolder folder;
  Opened opened;
  const auto listener = opened.listen(folder / "socket");
  const int client = connect_to(folder / "socket");
  EXPECT_TRUE(run_until(opened.loop, [&] { return opened.clients.size() == 1; }));
  int sockets = 0;
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    struct stat status {};
    if (::fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode)) {
      ++sockets;
      EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << descriptor;
    }
  }
  EXPECT_GE(sockets, 3);
  ::close(client);
}

TEST(Pipe, ReplacesWhatADeadProcessLeft) {
  const TemporaryFolder folder;
  ::close(listen_at(folder / "socket"));
  folder.file("socket.lock", "12345\n");
  Opened opened;
  const auto listener = opened.listen(folder / "socket");
  const int client = connect_to(folder / "socket");
  EXPECT_GE(client, 0);
  ::close(client);
}

TEST(Pipe, RefusesASecondDaemon) {
  const TemporaryFolder folder;
  Opened opened;
  const auto listener = opened.listen(folder / "socket");
  EXPECT_THAT(opened.problem_at(folder / "socket"),
              HasSubstr("another ridgeline daemon (process " + std::to_string(::getpid()) + ")"));
}

TEST(Pipe, JoinsAClientThatListens) {
  const TemporaryFolder folder;
  const int listening = listen_at(folder / "socket");
  Opened opened;
  Endpoint endpoint = open_pipe(opened.loop, folder / "socket", opened.handlers());
  ASSERT_TRUE(std::holds_alternative<std::shared_ptr<Transport>>(endpoint)) << Opened::problem(endpoint);
  const int client = ::accept(listening, nullptr, nullptr);
  const auto& transport = std::get<std::shared_ptr<Transport>>(endpoint);
  std::string got;
  transport->start({[&](std::string message) { got = std::move(message); }, {}});
  const std::string hello = frame("hello");
  EXPECT_EQ(::write(client, hello.data(), hello.size()), static_cast<ssize_t>(hello.size()));
  EXPECT_TRUE(run_until(opened.loop, [&] { return got == "hello"; }));
  transport->close();
  ::close(client);
  ::close(listening);
  EXPECT_TRUE(fs::exists(folder / "socket")) << "it is the client's";
  EXPECT_FALSE(fs::exists(folder / "socket.lock"));
}

TEST(Pipe, RefusesPlacesThatCannotBe) {
  const TemporaryFolder folder;
  Opened opened;
  EXPECT_THAT(opened.problem_at(folder.file("plain", "x")), HasSubstr("is not a socket"));
  EXPECT_EQ(testing::content_of(folder / "plain"), "x");
  EXPECT_THAT(opened.problem_at(folder / "plain/socket"), HasSubstr("is not a usable folder"));
  EXPECT_THAT(opened.problem_at(folder / std::string(200, 'x')), HasSubstr("at most 107 bytes"));
  EXPECT_THAT(opened.problem_at(""), HasSubstr("at most"));
  ::mkdir((folder / "open").c_str(), 0700);
  ::chmod((folder / "open").c_str(), 0777);
  EXPECT_THAT(opened.problem_at(folder / "open/socket"), HasSubstr("others can replace"));
}

TEST(Pipe, LeavesASocketThatAnotherPutInItsPlace) {
  const TemporaryFolder folder;
  Opened opened;
  auto listener = opened.listen(folder / "socket");
  ::unlink((folder / "socket").c_str());
  const int other = listen_at(folder / "socket");
  listener.reset();
  EXPECT_TRUE(fs::exists(folder / "socket"));
  ::close(other);
}

TEST(Port, ListensOnLoopbackOnly) {
  Opened opened;
  Endpoint endpoint = open_port(opened.loop, 0, opened.handlers());
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<Listener>>(endpoint)) << Opened::problem(endpoint);
  const std::uint16_t port = std::get<std::unique_ptr<Listener>>(endpoint)->port();
  EXPECT_NE(port, 0);
  const int client = connect_to(port);
  EXPECT_TRUE(run_until(opened.loop, [&] { return opened.clients.size() == 1; }));
  sockaddr_in peer{};
  socklen_t size = sizeof(peer);
  EXPECT_EQ(::getpeername(client, reinterpret_cast<sockaddr*>(&peer), &size), 0);
  EXPECT_EQ(ntohl(peer.sin_addr.s_addr), INADDR_LOOPBACK);
  ::close(client);
}

TEST(Port, TakesAPortAgainAtOnce) {
  Opened opened;
  Endpoint first = open_port(opened.loop, 0, opened.handlers());
  const std::uint16_t port = std::get<std::unique_ptr<Listener>>(first)->port();
  first = EndpointProblem{};
  const Endpoint second = open_port(opened.loop, port, opened.handlers());
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<Listener>>(second)) << Opened::problem(second);
  EXPECT_EQ(std::get<std::unique_ptr<Listener>>(second)->port(), port);
}

TEST(Port, JoinsAClientThatListens) {
  Opened opened;
  Endpoint listening = open_port(opened.loop, 0, opened.handlers());
  const std::uint16_t port = std::get<std::unique_ptr<Listener>>(listening)->port();
  const Endpoint endpoint = open_port(opened.loop, port, opened.handlers());
  EXPECT_TRUE(std::holds_alternative<std::shared_ptr<Transport>>(endpoint)) << Opened::problem(endpoint);
}

TEST(Port, KnowsWhoListens) {
  const std::string table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:2328 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1\n"
      "   1: 0100007F:2328 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1001        0 2\n"
      "   2: 00000000:2328 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 3\n"
      "   3: 0100007F:2329 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1003        0 4\n"
      "garbage 0A\n";
  EXPECT_THAT(listening_users(table, 0x2328), ElementsAre(1000U, 0U));
  EXPECT_THAT(listening_users(table, 0x9999), ElementsAre());
  EXPECT_THAT(listening_users("", 1), ElementsAre());
}

}  // namespace
}  // namespace ridgeline::lsp
