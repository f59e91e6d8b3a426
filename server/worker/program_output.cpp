#include "worker/program_output.h"

#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "worker/output_capture.h"
#include "worker/process.h"

namespace ridgeline::worker {

std::optional<std::string> first_line_of(const std::vector<std::string>& command, std::chrono::milliseconds limit) {
  boost::asio::io_context loop;
  Reaper reaper(loop);
  auto [read, write] = pipe_pair();
  const base::Result<pid_t> started = spawn({command, "/", {{write.get(), 1}}});
  write.reset();
  if (!started || read.get() < 0) {
    return std::nullopt;
  }
  const pid_t process = *started;
  auto output = std::make_shared<OutputCapture>(loop, std::move(read));
  output->start();
  bool good = false;
  reaper.watch(process, [&](int status) {
    good = status == 0;
    loop.stop();
  });
  boost::asio::steady_timer timer(loop, limit);
  timer.async_wait([&](const auto& /*error*/) { signal_group(process, SIGKILL); });
  loop.run();
  signal_group(process, SIGKILL);  // what it left behind
  const std::string text = output->tail();
  output->close();
  return good ? std::optional(text.substr(0, text.find('\n'))) : std::nullopt;
}

}  // namespace ridgeline::worker
