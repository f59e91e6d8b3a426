#include "worker/program.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "worker/process.h"

namespace ridgeline::worker {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kPause{20};  ///< between looks for its end, which follows that of its output

}  // namespace

base::Task<base::Result<ProgramEnd>> run_program(asio::io_context& loop, std::vector<std::string> command,
                                                 std::string folder, ProgramLimits limits,
                                                 std::function<void(pid_t)> started) {
  auto [ours, theirs] = pipe_pair();
  if (ours.get() < 0) {
    co_return base::error("no pipe could be made");
  }
  SpawnOptions spawned;
  spawned.arguments = std::move(command);
  spawned.folder = std::move(folder);
  spawned.descriptors = {{theirs.get(), 1}, {theirs.get(), 2}};
  const auto process = spawn(spawned);
  theirs.reset();
  if (!process) {
    co_return process.error();
  }
  started(*process);
  asio::posix::stream_descriptor output(loop, ours.release());
  asio::steady_timer limit(loop, limits.time);
  limit.async_wait([group = *process](const auto& problem) {
    if (!problem) {
      signal_group(group, SIGKILL);
    }
  });
  ProgramEnd end;
  std::array<char, 8192> chunk{};
  boost::system::error_code problem;
  while (!problem) {
    auto reading = output.async_read_some(asio::buffer(chunk), asio::redirect_error(asio::use_awaitable, problem));
    const std::size_t bytes = co_await std::move(reading);
    end.output.append(chunk.data(), std::min(bytes, limits.bytes - std::min(limits.bytes, end.output.size())));
  }
  int status = 0;
  asio::steady_timer pause(loop);
  while (::waitpid(*process, &status, WNOHANG) == 0) {
    pause.expires_after(kPause);
    auto waiting = pause.async_wait(asio::use_awaitable);
    co_await std::move(waiting);
  }
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  co_return end;
}

}  // namespace ridgeline::worker
