#include "cli/relay_command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/executable.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/runtime.h"
#include "lsp/transport/endpoint.h"
#include "lsp/transport/stream_transport.h"
#include "worker/cache.h"

namespace ridgeline::cli {

namespace {

constexpr std::chrono::seconds kStart{10};  ///< for the daemon, on a busy machine
constexpr const char* kIdle = "3600";       ///< seconds after which the daemon ends, when nobody needs it

/// In a session of its own, so that it outlives our connection. Its output goes to a file.
void start_daemon(const std::string& path, const std::string& log) {
  const std::string program = base::executable_path();
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

using DaemonConnection = std::variant<std::shared_ptr<lsp::Transport>, lsp::EndpointProblem>;

/// This user's daemon of this version.
DaemonConnection join_or_start(boost::asio::io_context& loop, const std::string& log) {
  const auto folder = runtime_folder();
  if (!folder) {
    return lsp::EndpointProblem{folder.error().message()};
  }
  const std::string path = *folder + "/remote-" + base::executable_version() + ".sock";
  const auto is_nobody = [](const DaemonConnection& daemon) {
    const auto* joined = std::get_if<std::shared_ptr<lsp::Transport>>(&daemon);
    return joined != nullptr && *joined == nullptr;
  };
  DaemonConnection daemon = lsp::join_pipe(loop, path);
  if (!is_nobody(daemon)) {
    return daemon;
  }
  start_daemon(path, log);
  const auto deadline = std::chrono::steady_clock::now() + kStart;
  while (is_nobody(daemon) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    daemon = lsp::join_pipe(loop, path);
  }
  if (is_nobody(daemon)) {
    daemon = lsp::EndpointProblem{"no daemon listens at " + path + ", and none could be started; see " + log};
  }
  return daemon;
}

int relay() {
  ::signal(SIGPIPE, SIG_IGN);
  const base::Result<std::string> cache = worker::cache_folder();
  if (!cache) {
    return fail(cache.error());
  }
  boost::asio::io_context loop(1);
  const DaemonConnection joined = join_or_start(loop, *cache + "/remote.log");
  if (const auto* problem = std::get_if<lsp::EndpointProblem>(&joined)) {
    return fail(problem->what);
  }
  const auto& daemon = std::get<std::shared_ptr<lsp::Transport>>(joined);
  const auto streams = lsp::take_standard_streams(loop);
  if (!streams) {
    return fail(streams.error());
  }
  const std::shared_ptr<lsp::Transport> here = *streams;
  const auto lead = [](const std::shared_ptr<lsp::Transport>& from, const std::shared_ptr<lsp::Transport>& to) {
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

}  // namespace ridgeline::cli
