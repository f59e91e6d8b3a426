#include "commands/worker_run.h"

#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>
#include <variant>

namespace ridgeline::commands {

namespace asio = boost::asio;

worker::Finished run_worker(const worker::WorkerOptions& options, const std::optional<protocol::RunSpec>& spec,
                            worker::RunLimits limits, const std::function<void(const protocol::Progress&)>& progress,
                            std::function<std::vector<int>(const worker::ChoiceAsked&)> choose) {
  asio::io_context loop;
  asio::thread_pool pool(1);  // ends before the loop that it posts to
  worker::Reaper reaper(loop);
  worker::Worker worker(loop, reaper, options);
  asio::signal_set interrupts(loop, SIGINT, SIGTERM);
  interrupts.async_wait([&worker](const auto& error, int /*signal*/) {
    if (!error) {
      worker.cancel();
    }
  });
  std::optional<worker::Finished> finished;
  const auto handle = [&](worker::Event event) {
    if (const auto* step = std::get_if<protocol::Progress>(&event)) {
      progress(*step);
    } else {
      finished = std::move(std::get<worker::Finished>(event));
      loop.stop();
    }
  };
  if (spec.has_value()) {
    worker.run(*spec, limits, handle, {pool.get_executor(), std::move(choose)});
  } else {
    worker.warm_up(limits, handle);
  }
  if (!finished.has_value()) {
    loop.run();
  }
  return std::move(*finished);
}

}  // namespace ridgeline::commands
