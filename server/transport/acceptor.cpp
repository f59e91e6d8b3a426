#include "transport/acceptor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "transport/stream_transport.h"

namespace ridgeline::transport {

namespace {

/// Then others on the loop have their turn.
constexpr int kClientsAtOnce = 16;
/// When descriptors have run out, asking again at once would only burn a processor.
constexpr std::chrono::milliseconds kPause{200};

}  // namespace

Acceptor::Acceptor(boost::asio::io_context& loop, int listening, Check check, ListenerHandlers handlers)
    : loop_(loop),
      listening_(loop, listening),
      pause_(loop),
      check_(std::move(check)),
      handlers_(std::move(handlers)) {}

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
      let_in(socket);
      if (!listening_.is_open()) {
        return;  // stopped by whom we told
      }
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      refuse(std::string("cannot let a client in: ") + std::strerror(errno));
      start_later();
      return;
    }
  }
  start();
}

void Acceptor::let_in(int socket) {
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

}  // namespace ridgeline::transport
