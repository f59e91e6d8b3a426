#include "commands/relay.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "commands/exit_codes.h"
#include "commands/own_file.h"
#include "transport/stream_transport.h"
#include "worker/cache.h"
#include "worker/process.h"

namespace ridgeline::commands {

namespace {

constexpr std::chrono::seconds kStart{10};  ///< for the daemon, on a busy machine
constexpr const char* kIdle = "3600";       ///< seconds after which the daemon ends, when nobody needs it

/// Where this user's daemon of this version listens.
std::string socket_path(const std::string& cache) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string folder =
      runtime != nullptr && *runtime == '/' ? std::string(runtime) + "/ridgeline" : cache + "/run";
  return folder + "/remote-" + own_version() + ".sock";
}

worker::Descriptor connect_to(const std::string& path) {
  worker::Descriptor end(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return {};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const bool connected = ::connect(end.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  return connected ? std::move(end) : worker::Descriptor{};
}

/// In a session of its own, so that it outlives the connection that we came by. What it says goes to a file.
void start_daemon(const std::string& path, const std::string& log) {
  const std::string program = own_file();
  const std::vector<const char*> arguments = {program.c_str(), "serve", "--pipe", path.c_str(),
                                              "--idle-exit",   kIdle,   nullptr};
  const pid_t child = ::fork();
  if (child != 0) {
    ::waitpid(child, nullptr, 0);
    return;
  }
  ::setsid();
  if (::fork() == 0) {
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ::dup2(null, STDIN_FILENO);
    ::dup2(out >= 0 ? out : null, STDOUT_FILENO);
    ::dup2(out >= 0 ? out : null, STDERR_FILENO);
    ::execv(program.c_str(), const_cast<char* const*>(arguments.data()));
  }
  ::_exit(0);
}

worker::Descriptor connect_or_start(const std::string& cache, std::string& error) {
  const std::string path = socket_path(cache);
  worker::Descriptor end = connect_to(path);
  if (end.get() >= 0) {
    return end;
  }
  const std::string log = cache + "/remote.log";
  start_daemon(path, log);
  const auto deadline = std::chrono::steady_clock::now() + kStart;
  while (end.get() < 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    end = connect_to(path);
  }
  if (end.get() < 0) {
    error = "no daemon listens at " + path + ", and none could be started; it may have said why in " + log;
  }
  return end;
}

int relay() {
  ::signal(SIGPIPE, SIG_IGN);
  std::string error;
  const std::string cache = worker::cache_folder(error);
  worker::Descriptor end = cache.empty() ? worker::Descriptor{} : connect_or_start(cache, error);
  if (end.get() < 0) {
    std::cerr << "ridgeline: " << error << "\n";
    return kExitEnvironment;
  }
  boost::asio::io_context loop(1);
  const auto here = transport::take_standard_streams(loop, error);
  if (here == nullptr) {
    std::cerr << "ridgeline: " << error << "\n";
    return kExitEnvironment;
  }
  const int socket = end.release();
  const auto daemon = std::make_shared<transport::StreamTransport>(loop, socket, socket);
  const auto lead = [](const std::shared_ptr<transport::Transport>& from,
                       const std::shared_ptr<transport::Transport>& to) {
    from->start({[to](std::string message) { to->send(std::move(message)); },
                 [from, to](const std::string& /*reason*/) {
                   from->close();
                   to->close();
                 }});
  };
  lead(here, daemon);
  lead(daemon, here);
  loop.run();
  return 0;
}

}  // namespace

void add_relay_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("relay", "What `ridgeline remote` starts on the other machine.");
  command->group("");  // not for users
  command->callback([&exit_code] { exit_code = relay(); });
}

}  // namespace ridgeline::commands
