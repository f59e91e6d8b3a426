#include "cli/log.h"

#include <poll.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "report/units.h"

namespace ridgeline::cli {

namespace {

/// A pipe that poll(2) calls writable takes PIPE_BUF bytes without waiting. Messages quote text from clients.
class StandardErrorSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::details::log_msg shown = message;
    const std::string text = report::printable(std::string_view(message.payload.data(), message.payload.size()));
    shown.payload = text;
    spdlog::memory_buf_t line;
    formatter_->format(shown, line);
    pollfd standard_error{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&standard_error, 1, 0) == 1 && (standard_error.revents & POLLOUT) != 0) {
      const std::size_t size = std::min<std::size_t>(line.size(), PIPE_BUF);
      [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), size);
    }
  }
  void flush_() override {}
};

}  // namespace

void log_to_standard_error() {
  auto logger = std::make_shared<spdlog::logger>("ridgeline", std::make_shared<StandardErrorSink>());
  logger->set_pattern("ridgeline: %l: %v");
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace ridgeline::cli
