#include "cli/blocking_script.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <functional>
#include <optional>
#include <utility>

#include "cli/terminal.h"

namespace ridgeline::cli {

namespace asio = boost::asio;

namespace {

/// Shows what a job has to say, and ends the loop with it.
class ForegroundJob final : public worker::JobListener {
 public:
  explicit ForegroundJob(asio::io_context& loop) : loop_(loop) {}
  void on_job_note(const std::string& message) override { print_error(message); }
  void on_job_progress(const protocol::Progress& /*progress*/) override {}
  void on_job_output(std::string_view /*text*/) override {}
  void on_job_end(worker::JobEnd end) override {
    end_ = std::move(end);
    loop_.stop();
  }
  /// After the loop has ended.
  worker::JobEnd take_end() { return std::move(*end_); }

 private:
  asio::io_context& loop_;
  std::optional<worker::JobEnd> end_;
};

/// Runs the job to its end. Interrupts are the command's: the terminal sends them to it, too.
base::Result<worker::JobEnd, protocol::Failure> run_job(worker::JobOptions options) {
  asio::io_context loop;
  worker::Reaper reaper(loop);
  ForegroundJob listener(loop);
  auto job = worker::Job::start(loop, reaper, std::move(options), listener);
  if (!job) {
    return job.error();
  }
  bool interrupted = false;
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  std::function<void()> wait = [&] {
    signals.async_wait([&](const boost::system::error_code& error, int signal) {
      if (!error) {
        interrupted = true;
        if (signal != SIGINT) {
          ::kill((*job)->process(), signal);
        }
        wait();
      }
    });
  };
  wait();
  loop.run();
  worker::JobEnd end = listener.take_end();
  end.interrupted = interrupted;
  return end;
}

}  // namespace

base::Task<base::Result<std::shared_ptr<worker::JobEnd>, protocol::Failure>> BlockingScript::run(
    worker::JobOptions options) {
  auto ended = run_job(std::move(options));
  if (!ended) {
    co_return std::move(ended).error();
  }
  co_return std::make_shared<worker::JobEnd>(std::move(*ended));
}

void BlockingScript::announce(const std::string& text) { print_error(text); }

base::Task<void> BlockingScript::off_loop(std::function<void()> work) {
  work();
  co_return;
}

}  // namespace ridgeline::cli
