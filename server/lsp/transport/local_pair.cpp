#include "lsp/transport/local_pair.h"

#include <boost/asio/post.hpp>
#include <deque>
#include <string>

namespace ridgeline::lsp {

namespace {

class LocalTransport : public Transport, public std::enable_shared_from_this<LocalTransport> {
 public:
  explicit LocalTransport(boost::asio::io_context& loop) : loop_(loop) {}
  LocalTransport(const LocalTransport&) = delete;
  LocalTransport& operator=(const LocalTransport&) = delete;
  ~LocalTransport() override { tell_other_end(); }

  void connect(const std::shared_ptr<LocalTransport>& other) { other_ = other; }

  void start(Handlers handlers) override {
    handlers_ = std::make_shared<Handlers>(std::move(handlers));
    deliver_soon();
  }
  void send(std::string message) override {
    if (const auto other = other_.lock(); other != nullptr && !closed_) {
      other->arrived_.push_back(std::move(message));
      other->deliver_soon();
    }
  }
  void close() override {
    closed_ = true;
    handlers_.reset();
    arrived_.clear();
    tell_other_end();
  }
  void limit_messages(std::size_t /*bytes*/) override {}
  bool idle() const override { return true; }

 private:
  void tell_other_end() {
    if (const auto other = other_.lock(); other != nullptr) {
      other->over_ = true;
      other->deliver_soon();
    }
    other_.reset();
  }

  void deliver_soon() {
    boost::asio::post(loop_, [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self != nullptr) {
        self->deliver();
      }
    });
  }

  void deliver() {
    while (handlers_ != nullptr && !arrived_.empty()) {
      std::string message = std::move(arrived_.front());
      arrived_.pop_front();
      const std::shared_ptr<Handlers> handlers = handlers_;  // the call may replace it
      handlers->on_message(std::move(message));
    }
    if (over_ && handlers_ != nullptr) {
      const std::shared_ptr<Handlers> handlers = std::move(handlers_);
      handlers->on_end("");
    }
  }

  boost::asio::io_context& loop_;
  std::weak_ptr<LocalTransport> other_;
  std::shared_ptr<Handlers> handlers_;
  std::deque<std::string> arrived_;
  bool closed_ = false;
  bool over_ = false;  ///< the other one sends no more
};

}  // namespace

std::pair<std::shared_ptr<Transport>, std::shared_ptr<Transport>> make_local_pair(boost::asio::io_context& loop) {
  auto one = std::make_shared<LocalTransport>(loop);
  auto other = std::make_shared<LocalTransport>(loop);
  one->connect(other);
  other->connect(one);
  return {one, other};
}

}  // namespace ridgeline::lsp
