#include "lsp/session/process_watch.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

namespace ridgeline::lsp {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kInterval{500};

/// Signal 0 may be sent to processes of one's own user only.
bool is_ours(pid_t process) { return process > 0 && ::kill(process, 0) == 0; }

int open_pidfd(pid_t process) { return static_cast<int>(::syscall(SYS_pidfd_open, process, 0)); }

class Poll : public std::enable_shared_from_this<Poll> {
 public:
  Poll(asio::io_context& loop, pid_t process, std::function<void()> on_end)
      : timer_(loop), process_(process), on_end_(std::move(on_end)) {}

  void wait() {
    timer_.expires_after(kInterval);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& problem) {
      const auto self = weak.lock();
      if (problem || self == nullptr) {
        return;
      }
      if (is_ours(self->process_)) {
        self->wait();
      } else {
        self->on_end_();
      }
    });
  }

 private:
  asio::steady_timer timer_;
  pid_t process_;
  std::function<void()> on_end_;
};

}  // namespace

std::shared_ptr<void> poll_process_end(asio::io_context& loop, pid_t process, std::function<void()> on_end) {
  if (!is_ours(process)) {
    return nullptr;
  }
  auto poll = std::make_shared<Poll>(loop, process, std::move(on_end));
  poll->wait();
  return poll;
}

std::shared_ptr<void> watch_process_end(asio::io_context& loop, pid_t process, std::function<void()> on_end) {
  if (!is_ours(process)) {
    return nullptr;
  }
  const int fd = open_pidfd(process);  // close-on-exec by itself
  if (fd < 0) {
    return poll_process_end(loop, process, std::move(on_end));
  }
  auto descriptor = std::make_shared<asio::posix::stream_descriptor>(loop, fd);
  descriptor->async_wait(asio::posix::stream_descriptor::wait_read,
                         [on_end = std::move(on_end)](const boost::system::error_code& problem) {
                           if (!problem) {
                             on_end();
                           }
                         });
  return descriptor;
}

}  // namespace ridgeline::lsp
