#include "lsp/session/authentication.h"

#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "protocol/json_rpc.h"

namespace ridgeline::lsp {

namespace {

using protocol::Json;

/// The token that a message brings; nothing when it is not the message that has to come first. `id`: of a request.
std::optional<std::string> token_in(const std::string& text, std::optional<protocol::RequestId>& id) {
  const auto read = protocol::parse_message(text);
  const auto* message = std::get_if<protocol::Message>(&read);
  const auto* request = message == nullptr ? nullptr : std::get_if<protocol::Request>(message);
  const auto* notification = message == nullptr ? nullptr : std::get_if<protocol::Notification>(message);
  if (request == nullptr && notification == nullptr) {
    return std::nullopt;
  }
  if (request != nullptr) {
    id = request->id;
  }
  const Json& params = request != nullptr ? request->params : notification->params;
  const std::string& method = request != nullptr ? request->method : notification->method;
  const bool complete = method == "ridgeline/authenticate" && params.is_object() && params.contains("token") &&
                        params["token"].is_string();
  return complete ? std::optional(params["token"].get<std::string>()) : std::nullopt;
}

class Authentication : public std::enable_shared_from_this<Authentication> {
 public:
  Authentication(boost::asio::io_context& loop, std::shared_ptr<Transport> connection, std::string token,
                 std::function<void(std::shared_ptr<Transport>)> on_success,
                 std::function<void(std::string)> on_refusal)
      : timer_(loop),
        connection_(std::move(connection)),
        token_(std::move(token)),
        on_success_(std::move(on_success)),
        on_refusal_(std::move(on_refusal)) {}

  void start(AuthenticationLimits limits) {
    connection_->limit_messages(limits.bytes);
    timer_.expires_after(limits.time);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& problem) {
      if (!problem) {
        self->refuse("no token was sent in time");
      }
    });
    connection_->start({[self = shared_from_this()](const std::string& text) { self->receive(text); },
                        [self = shared_from_this()](const std::string& reason) {
                          self->refuse(reason.empty() ? "it ended before a token was sent" : reason);
                        }});
  }

  void refuse(const std::string& reason) {
    if (const auto connection = std::exchange(connection_, nullptr)) {
      timer_.cancel();
      connection->close();
      on_refusal_(reason);
    }
  }

 private:
  void receive(const std::string& text) {
    if (connection_ == nullptr) {
      return;
    }
    std::optional<protocol::RequestId> id;
    const std::optional<std::string> token = token_in(text, id);
    if (!token.has_value() || !same_secret(*token, token_)) {
      const std::string reason =
          token.has_value() ? "the token is wrong" : "the first message must be ridgeline/authenticate with the token";
      if (id.has_value()) {
        answer(*id, protocol::ResponseError{protocol::error_code::kRequestFailed, reason});
      }
      refuse(reason);
      return;
    }
    timer_.cancel();
    if (id.has_value()) {
      answer(*id, Json());
    }
    connection_->limit_messages(kMaxMessageBytes);
    on_success_(std::exchange(connection_, nullptr));
  }

  void answer(const protocol::RequestId& id, std::variant<Json, protocol::ResponseError> outcome) {
    connection_->send(protocol::encode(protocol::Response{id, std::move(outcome)}));
  }

  boost::asio::steady_timer timer_;
  std::shared_ptr<Transport> connection_;  ///< null once it is decided
  std::string token_;
  std::function<void(std::shared_ptr<Transport>)> on_success_;
  std::function<void(std::string)> on_refusal_;
};

}  // namespace

bool same_secret(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) {
    return false;
  }
  volatile unsigned difference = 0;  // not to be optimised into an early end
  for (std::size_t i = 0; i < left.size(); ++i) {
    difference = difference | (static_cast<unsigned char>(left[i]) ^ static_cast<unsigned char>(right[i]));
  }
  return difference == 0;
}

std::function<void()> authenticate(boost::asio::io_context& loop, std::shared_ptr<Transport> connection,
                                   std::string token, AuthenticationLimits limits,
                                   std::function<void(std::shared_ptr<Transport>)> on_success,
                                   std::function<void(std::string)> on_refusal) {
  const auto waiting = std::make_shared<Authentication>(loop, std::move(connection), std::move(token),
                                                        std::move(on_success), std::move(on_refusal));
  waiting->start(limits);
  return [weak = std::weak_ptr(waiting)] {
    if (const auto self = weak.lock()) {
      self->refuse("we end");
    }
  };
}

}  // namespace ridgeline::lsp
