#include "lsp/transport/peeked.h"

#include <boost/asio/post.hpp>
#include <deque>
#include <optional>
#include <utility>

namespace ridgeline::lsp {

namespace {

/// Keeps what comes until it is started.
class Peeked : public Transport, public std::enable_shared_from_this<Peeked> {
 public:
  Peeked(boost::asio::io_context& loop, std::shared_ptr<Transport> inner, std::string first)
      : loop_(loop), inner_(std::move(inner)) {
    kept_.push_back(std::move(first));
  }

  void keep() {
    inner_->start({[self = shared_from_this()](std::string message) { self->kept_.push_back(std::move(message)); },
                   [self = shared_from_this()](std::string reason) { self->end_ = std::move(reason); }});
  }
  void start(Handlers handlers) override {
    boost::asio::post(loop_, [self = shared_from_this(), handlers = std::move(handlers)]() mutable {
      while (!self->closed_ && !self->kept_.empty()) {
        std::string message = std::move(self->kept_.front());
        self->kept_.pop_front();
        handlers.on_message(std::move(message));
      }
      if (self->closed_) {
        return;
      }
      if (self->end_.has_value()) {
        handlers.on_end(*self->end_);
      } else {
        self->inner_->start(std::move(handlers));
      }
    });
  }
  void send(std::string message) override { inner_->send(std::move(message)); }
  void close() override {
    closed_ = true;
    inner_->close();
  }
  void limit_messages(std::size_t bytes) override { inner_->limit_messages(bytes); }
  bool idle() const override { return inner_->idle(); }

 private:
  boost::asio::io_context& loop_;
  std::shared_ptr<Transport> inner_;
  std::deque<std::string> kept_;
  std::optional<std::string> end_;
  bool closed_ = false;
};

}  // namespace

std::function<void()> peek(boost::asio::io_context& loop, const std::shared_ptr<Transport>& connection,
                           std::function<void(std::shared_ptr<Transport>, const std::string&)> then,
                           std::function<void()> on_end) {
  // Until the first message only these handlers hold the connection; then whoever it is handed to does.
  const auto waiting = std::make_shared<std::shared_ptr<Transport>>(connection);
  const auto hand_over = [&loop, waiting, then = std::move(then)](const std::string& message) {
    if (const auto inner = std::exchange(*waiting, nullptr)) {
      const auto peeked = std::make_shared<Peeked>(loop, inner, message);
      peeked->keep();
      then(peeked, message);
    }
  };
  connection->start({hand_over, [waiting, on_end = std::move(on_end)](const std::string& /*reason*/) {
                       if (const auto inner = std::exchange(*waiting, nullptr)) {
                         inner->close();
                         on_end();
                       }
                     }});
  return [waiting] {
    if (const auto inner = std::exchange(*waiting, nullptr)) {
      inner->close();
    }
  };
}

}  // namespace ridgeline::lsp
