#include "lsp/transport/resumable.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <charconv>
#include <chrono>
#include <utility>

namespace ridgeline::lsp {

namespace {

/// How long acknowledgements are collected before one is sent for all of them.
constexpr std::chrono::milliseconds kAckPause{100};
constexpr std::size_t kIdDigits = 32;
constexpr std::string_view kLink = "link ";
constexpr std::string_view kAck = "ack ";
constexpr std::string_view kEnd = "end";

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string encode(const LinkGreeting& greeting) {
  return std::string(kLink) + greeting.id + " " + std::to_string(greeting.received);
}

std::optional<LinkGreeting> parse_greeting(std::string_view frame) {
  if (!frame.starts_with(kLink) || frame.size() < kLink.size() + kIdDigits + 2) {
    return std::nullopt;
  }
  const std::string_view id = frame.substr(kLink.size(), kIdDigits);
  const bool hexadecimal = id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  const auto received = number_in(frame.substr(kLink.size() + kIdDigits + 1));
  if (!hexadecimal || frame[kLink.size() + kIdDigits] != ' ' || !received.has_value()) {
    return std::nullopt;
  }
  return LinkGreeting{std::string(id), *received};
}

void Resumable::attach(std::shared_ptr<Transport> connection, std::uint64_t other_received) {
  if (over_) {
    connection->close();
    return;
  }
  if (const auto before = std::exchange(connection_, nullptr)) {
    before->close();
  }
  if (other_received < acknowledged_ || other_received > acknowledged_ + unacknowledged_.size()) {
    connection->close();
    give_up("the other side has lost count of the messages");
    return;
  }
  drop_acknowledged(other_received);
  connection_ = std::move(connection);
  connection_->limit_messages(limit_);
  for (const std::string& message : unacknowledged_) {
    connection_->send(message);
  }
  if (handlers_ != nullptr) {
    read();
  }
}

void Resumable::start(Handlers handlers) {
  handlers_ = std::make_shared<Handlers>(std::move(handlers));
  if (connection_ != nullptr) {
    read();
  }
}

void Resumable::read() {
  // Ignore whatever comes from an earlier connection.
  const auto of_now = [weak = weak_from_this(), of = std::weak_ptr(connection_)]() -> std::shared_ptr<Resumable> {
    const auto self = weak.lock();
    return self != nullptr && self->connection_ != nullptr && self->connection_ == of.lock() ? self : nullptr;
  };
  connection_->start({[of_now](std::string frame) {
                        if (const auto self = of_now()) {
                          self->receive(std::move(frame));
                        }
                      },
                      [of_now](std::string reason) {
                        const auto self = of_now();
                        if (self == nullptr) {
                          return;
                        }
                        std::exchange(self->connection_, nullptr)->close();
                        self->ack_timer_.cancel();
                        self->ack_waits_ = false;
                        if (self->on_detach_) {
                          self->on_detach_(std::move(reason));
                        }
                      }});
}

void Resumable::receive(std::string frame) {
  if (frame.starts_with(kAck)) {
    drop_acknowledged(number_in(std::string_view(frame).substr(kAck.size())).value_or(0));
  } else if (frame == kEnd) {
    give_up("");
  } else if (!frame.starts_with(kLink) &&
             frame != kLinkGone) {  // a connection that was peeked at delivers its greeting again
    ++received_;
    acknowledge_soon();
    const std::shared_ptr<Handlers> handlers = handlers_;
    handlers->on_message(std::move(frame));
  }
}

void Resumable::acknowledge_soon() {
  if (std::exchange(ack_waits_, true)) {
    return;
  }
  ack_timer_.expires_after(kAckPause);
  ack_timer_.async_wait([weak = weak_from_this()](const auto& problem) {
    const auto self = weak.lock();
    if (self == nullptr || problem) {
      return;
    }
    self->ack_waits_ = false;
    if (self->connection_ != nullptr) {
      self->connection_->send(std::string(kAck) + std::to_string(self->received_));
    }
  });
}

void Resumable::drop_acknowledged(std::uint64_t count) {
  while (acknowledged_ < count && !unacknowledged_.empty()) {
    waiting_bytes_ -= unacknowledged_.front().size();
    unacknowledged_.pop_front();
    ++acknowledged_;
  }
}

void Resumable::send(std::string message) {
  if (over_) {
    return;
  }
  if (waiting_bytes_ + message.size() > kMaxWaitingBytes) {
    give_up("more than " + std::to_string(kMaxWaitingBytes) + " bytes wait for the other side");
    return;
  }
  waiting_bytes_ += message.size();
  if (connection_ != nullptr) {
    connection_->send(message);
  }
  unacknowledged_.push_back(std::move(message));
}

void Resumable::give_up(const std::string& reason) {
  const std::shared_ptr<Handlers> handlers = handlers_;
  if (over_) {
    return;
  }
  close();
  if (handlers != nullptr) {
    boost::asio::post(loop_, [handlers, reason] { handlers->on_end(reason); });
  }
}

void Resumable::close() {
  if (std::exchange(over_, true)) {
    return;
  }
  ack_timer_.cancel();
  if (const auto connection = std::exchange(connection_, nullptr)) {
    connection->send(std::string(kEnd));
    connection->close();
  }
  unacknowledged_.clear();
  waiting_bytes_ = 0;
  // The handlers own the caller: they must not be destroyed during its call.
  boost::asio::post(loop_, [handlers = std::move(handlers_), detach = std::move(on_detach_)] {});
  handlers_ = nullptr;
  on_detach_ = nullptr;
}

void Resumable::limit_messages(std::size_t bytes) {
  limit_ = bytes;
  if (connection_ != nullptr) {
    connection_->limit_messages(bytes);
  }
}

}  // namespace ridgeline::lsp
