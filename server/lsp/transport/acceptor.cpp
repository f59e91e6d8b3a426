#include "lsp/transport/acceptor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/errno_text.h"
#include "lsp/transport/stream_transport.h"

namespace ridgeline::lsp {

namespace {

/// Then others on the loop have their turn.
constexpr int kClientsAtOnce = 16;
/// When descriptors have run out, asking again at once would only burn a processor.
constexpr std::chrono::milliseconds kPause{200};

/// For interpreters and compilers with their pipes, the store, and files that are read: a few dozen at most.
constexpr rlim_t kLeftFree = 64;

int spare_descriptor() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

rlim_t most_descriptors() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

}  // namespace

Acceptor::Acceptor(boost::asio::io_context& loop, int listening, Check check, ListenerHandlers handlers)
    : loop_(loop),
      listening_(loop, listening),
      pause_(loop),
      spare_(spare_descriptor()),
      check_(std::move(check)),
      handlers_(std::move(handlers)) {}

Acceptor::~Acceptor() { ::close(spare_); }

void Acceptor::start() {
  listening_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                        [self = shared_from_this()](const boost::system::error_code& problem) {
                          if (!problem && self->listening_.is_open()) {
                            self->accept();
                          }
                        });
}

void Acceptor::stop() {
  boost::system::error_code ignored;
  listening_.close(ignored);
  pause_.cancel();
  handlers_ = {};
}

void Acceptor::accept() {
  for (int clients = 0; clients < kClientsAtOnce; ++clients) {
    const int socket = ::accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket >= 0) {
      hand_over(socket);
      if (!listening_.is_open()) {
        return;  // stopped by a handler
      }
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno == EMFILE || errno == ENFILE) {
      refuse_without_descriptor();
      start_later();
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      refuse(base::with_errno("cannot accept a connection"));
      start_later();
      return;
    }
  }
  start();
}

void Acceptor::refuse_without_descriptor() {
  ::close(spare_);
  ::close(::accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  spare_ = spare_descriptor();
  refuse("refused a connection: the process has no file descriptors left");
}

void Acceptor::hand_over(int socket) {
  if (const rlim_t most = most_descriptors(); static_cast<rlim_t>(socket) >= most - std::min(kLeftFree, most / 4)) {
    ::close(socket);
    refuse("refused a connection: of the process's " + std::to_string(most) +
           " file descriptors, the last ones are reserved for profiles");
    return;
  }
  if (std::string reason = check_(socket); !reason.empty()) {
    ::close(socket);
    refuse(std::move(reason));
    return;
  }
  const ListenerHandlers handlers = handlers_;
  handlers.on_connection(std::make_shared<StreamTransport>(loop_, socket, socket));
}

void Acceptor::refuse(std::string reason) {
  if (const auto on_refusal = handlers_.on_refusal) {
    on_refusal(std::move(reason));
  }
}

void Acceptor::start_later() {
  pause_.expires_after(kPause);
  pause_.async_wait([self = shared_from_this()](const boost::system::error_code& problem) {
    if (!problem && self->listening_.is_open()) {
      self->start();
    }
  });
}

}  // namespace ridgeline::lsp
