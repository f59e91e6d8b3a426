#include "cli/entry_runs.h"

#include <signal.h>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <optional>
#include <utility>
#include <variant>

namespace ridgeline::cli {

namespace asio = boost::asio;

BlockingWorker::BlockingWorker(worker::WorkerOptions options)
    : reaper_(loop_), worker_(loop_, reaper_, std::move(options)) {}

worker::Finished BlockingWorker::run(const protocol::RunSpec& spec, worker::RunLimits limits,
                                     const ShowProgress& progress,
                                     std::function<std::vector<int>(const worker::ChoiceAsked&)> choose) {
  asio::thread_pool pool(1);  // ends before the loop that it posts to
  return wait(progress, [&](Handler handler) {
    worker_.run(spec, limits, std::move(handler), {pool.get_executor(), std::move(choose)});
  });
}

worker::Finished BlockingWorker::warm_up(worker::RunLimits limits, const ShowProgress& progress) {
  return wait(progress, [&](Handler handler) { worker_.warm_up(limits, std::move(handler)); });
}

worker::Finished BlockingWorker::wait(const ShowProgress& progress, const std::function<void(Handler)>& begin) {
  asio::signal_set interrupts(loop_, SIGINT, SIGTERM);
  interrupts.async_wait([this](const auto& error, int /*signal*/) {
    if (!error) {
      worker_.cancel();
    }
  });
  std::optional<worker::Finished> finished;
  loop_.restart();
  begin([&](worker::Event event) {
    if (const auto* step = std::get_if<protocol::Progress>(&event)) {
      progress(*step);
    } else {
      finished = std::move(std::get<worker::Finished>(event));
      loop_.stop();
    }
  });
  if (!finished.has_value()) {
    loop_.run();
  }
  return std::move(*finished);
}

}  // namespace ridgeline::cli
