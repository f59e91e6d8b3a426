#include "lsp/transport/stream_transport.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <variant>

namespace ridgeline::lsp {

namespace asio = boost::asio;

namespace {

/// How long the other side has to read what is still queued when we close.
constexpr std::chrono::seconds kCloseTimeout{1};

/// Restores the file status flags of a descriptor that is shared with others, such as the shell that started us.
struct SavedFileFlags {
  int descriptor;
  int flags;
  void restore() const { ::fcntl(descriptor, F_SETFL, flags); }
};

SavedFileFlags save_file_flags(int descriptor) { return {descriptor, ::fcntl(descriptor, F_GETFL)}; }

}  // namespace

StreamTransport::StreamTransport(asio::io_context& loop, int input, int output, Framing framing)
    : loop_(loop), input_(loop, input), close_timer_(loop), framing_(framing), reader_(kMaxMessageBytes, framing) {
  if (output != input) {
    output_.emplace(loop, output);
  }
}

StreamTransport::~StreamTransport() { close_streams(); }

void StreamTransport::start(Handlers handlers) {
  handlers_ = std::make_shared<Handlers>(std::move(handlers));
  if (!reading_ && !closing_) {
    reading_ = true;
    read();
  }
}

void StreamTransport::read() {
  input_.async_read_some(asio::buffer(chunk_),
                         [self = shared_from_this()](const boost::system::error_code& problem, std::size_t bytes) {
                           if (self->closing_ || self->ended_) {
                             return;
                           }
                           self->reader_.feed({self->chunk_.data(), bytes});
                           self->deliver();
                           if (self->closing_ || self->ended_) {
                             return;
                           }
                           if (!problem) {
                             self->read();
                           } else if (problem == asio::error::eof) {
                             self->end(self->reader_.at_boundary() ? "" : "the input ended inside a message");
                           } else {
                             self->end("cannot read: " + problem.message());
                           }
                         });
}

void StreamTransport::deliver() {
  while (!closing_ && !ended_) {
    auto next = reader_.next();
    if (!next.has_value()) {
      return;
    }
    if (auto* error = std::get_if<FramingError>(&*next)) {
      end(std::move(error->what));
      return;
    }
    const std::shared_ptr<Handlers> handlers = handlers_;  // it may be replaced by the call
    handlers->on_message(std::move(std::get<std::string>(*next)));
  }
}

void StreamTransport::end(std::string reason) {
  if (ended_ || closing_) {
    return;
  }
  ended_ = true;
  asio::post(loop_, [self = shared_from_this(), reason = std::move(reason)]() mutable {
    const std::shared_ptr<Handlers> handlers = self->handlers_;
    if (!self->closing_ && handlers != nullptr) {
      handlers->on_end(std::move(reason));
    }
  });
}

void StreamTransport::send(std::string message) {
  if (closing_ || !output().is_open()) {
    return;
  }
  std::string framed = frame(message, framing_);
  if (waiting_bytes_ + framed.size() > kMaxWaitingBytes) {
    end("the client does not read: more than " + std::to_string(kMaxWaitingBytes) + " bytes wait for it");
    queue_.resize(queue_.empty() ? 0 : 1);  // they could not be delivered; the first is being written
    waiting_bytes_ = queue_.empty() ? 0 : queue_.front().size();
    return;
  }
  waiting_bytes_ += framed.size();
  queue_.push_back(std::move(framed));
  if (queue_.size() == 1) {
    write();
  }
}

void StreamTransport::write() {
  asio::async_write(output(), asio::buffer(queue_.front()),
                    [self = shared_from_this()](const boost::system::error_code& problem, std::size_t /*bytes*/) {
                      if (problem) {
                        self->queue_.clear();
                        self->waiting_bytes_ = 0;
                        self->end("cannot write: " + problem.message());
                      } else {
                        self->waiting_bytes_ -= self->queue_.front().size();
                        self->queue_.pop_front();
                      }
                      if (!self->queue_.empty()) {
                        self->write();
                      } else if (self->closing_) {
                        self->close_streams();
                      }
                    });
}

void StreamTransport::close() {
  if (closing_) {
    return;
  }
  closing_ = true;
  // The handlers own the caller: they must not be destroyed during its call.
  asio::post(loop_, [handlers = std::move(handlers_), self = shared_from_this()] {});
  handlers_ = nullptr;
  if (queue_.empty()) {
    close_streams();
    return;
  }
  close_timer_.expires_after(kCloseTimeout);
  close_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& /*problem*/) {
    if (const auto self = weak.lock()) {
      self->close_streams();
    }
  });
}

void StreamTransport::close_streams() {
  close_timer_.cancel();
  if (before_close_) {
    std::exchange(before_close_, nullptr)();
  }
  boost::system::error_code ignored;
  input_.close(ignored);
  if (output_.has_value()) {
    output_->close(ignored);
  }
}

base::Result<std::shared_ptr<StreamTransport>> take_standard_streams(asio::io_context& loop, Framing framing) {
  const int input = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  const int output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (input < 0 || output < 0 || null < 0) {
    const std::string problem = std::strerror(errno);
    for (const int descriptor : {input, output, null}) {
      if (descriptor >= 0) {
        ::close(descriptor);
      }
    }
    return base::error("standard input and output must both be open: " + problem);
  }
  ::dup2(null, STDIN_FILENO);
  ::dup2(::fcntl(STDERR_FILENO, F_GETFD) >= 0 ? STDERR_FILENO : null, STDOUT_FILENO);
  ::close(null);
  const SavedFileFlags input_flags = save_file_flags(input);
  const SavedFileFlags output_flags = save_file_flags(output);
  auto transport = std::make_shared<StreamTransport>(loop, input, output, framing);
  transport->before_close([input_flags, output_flags] {
    input_flags.restore();
    output_flags.restore();
  });
  return transport;
}

}  // namespace ridgeline::lsp
