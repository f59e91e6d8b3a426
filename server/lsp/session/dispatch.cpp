// Requests and their answers, both ways: by the rules of LSP's lifecycle.
#include <spdlog/spdlog.h>

#include "lsp/session/session.h"
#include "protocol/json_fields.h"

namespace ridgeline::lsp {

namespace error_code = protocol::error_code;
using protocol::Json;
using protocol::ResponseError;

namespace {

/// Further requests fail: the client has to wait for answers.
constexpr std::size_t kMaxPendingRequests = 4096;

/// For logs, of what a client sent: on one line, and not endless.
std::string for_log(const std::string& text) {
  return Json(text.substr(0, 100)).dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// Any request may bring tokens, and some are not looked at before the request has waited for something: what is wrong
/// with them is answered at once. Throws InvalidValue.
void check_tokens(const Json& params) {
  for (const char* name : {"workDoneToken", "partialResultToken"}) {
    const auto token = params.is_object() ? params.find(name) : params.end();
    if (token != params.end() && !token->is_null() && !protocol::read_request_id(*token).has_value()) {
      throw protocol::InvalidValue(std::string(name) + ": must be an integer or a string");
    }
  }
}

}  // namespace

std::optional<ResponseError> Session::refusal(const protocol::Request& request) const {
  if (state_ == State::kStarted) {
    return ResponseError{error_code::kServerNotInitialized, "the first request must be initialize"};
  }
  if (state_ == State::kShutDown) {
    return ResponseError{error_code::kInvalidRequest, "only exit is allowed after shutdown"};
  }
  if (request.method == "initialize") {
    return ResponseError{error_code::kInvalidRequest, "this session is initialized already"};
  }
  if (pending_.contains(request.id)) {
    return ResponseError{error_code::kInvalidRequest, "a request with this id has not been answered yet"};
  }
  if (pending_.size() >= kMaxPendingRequests) {
    return ResponseError{error_code::kRequestFailed,
                         std::to_string(pending_.size()) + " requests wait for their answers: too many"};
  }
  return std::nullopt;
}

void Session::handle(protocol::Request request) {
  if (state_ == State::kStarted && request.method == "initialize") {
    initialize(request.id, request.params);
    return;
  }
  if (std::optional<ResponseError> error = refusal(request)) {
    send_answer(request.id, std::move(*error));
    return;
  }
  if (request.method == "shutdown") {
    state_ = State::kShutDown;
    send_answer(request.id, Json());
    return;
  }
  const auto handler = service_.methods.requests.find(request.method);
  if (handler == service_.methods.requests.end()) {
    send_answer(request.id, ResponseError{error_code::kMethodNotFound, "unknown method " + for_log(request.method)});
    return;
  }
  dispatch(request, handler->second);
}

void Session::dispatch(const protocol::Request& request, const RequestHandler& handler) {
  const std::uint64_t serial = ++last_serial_;
  PendingRequest& pending = pending_[request.id];
  pending.serial = serial;
  pending.method = request.method;
  const CancelToken token = pending.cancel.token();
  Reply reply([weak = weak_from_this(), id = request.id, serial](std::optional<Outcome> outcome) {
    if (const auto self = weak.lock()) {
      self->answer(id, serial, std::move(outcome));
    }
  });
  dispatching_ = serial;
  std::optional<Outcome> failed;
  try {
    check_tokens(request.params);
    handler(*this, request.params, std::move(reply), token);
  } catch (...) {
    failed = error_of(std::current_exception());
  }
  dispatching_ = 0;
  const auto left = pending_.find(request.id);
  const bool dropped = left != pending_.end() && left->second.serial == serial && left->second.dropped;
  if (failed.has_value() || dropped) {
    answer(request.id, serial, std::move(failed));
  }
}

void Session::answer(const protocol::RequestId& id, std::uint64_t serial, std::optional<Outcome> outcome) {
  const auto found = pending_.find(id);
  if (found == pending_.end() || found->second.serial != serial) {
    return;  // cancelled, or answered before
  }
  if (!outcome.has_value() && dispatching_ == serial) {
    found->second.dropped = true;  // maybe by an exception, which says more: see dispatch()
    return;
  }
  PendingRequest pending = std::move(found->second);
  pending_.erase(found);
  if (!outcome.has_value()) {
    spdlog::error("session {}: {} was never answered", id_, pending.method);
    outcome = ResponseError{error_code::kInternalError, "the request was dropped without an answer"};
  }
  send_answer(id, std::move(*outcome));
  pending.cancel.release();
}

void Session::cancel(const Json& params) {
  const std::optional<protocol::RequestId> id = protocol::read_request_id(protocol::member<Json>(params, "id"));
  const auto found = id.has_value() ? pending_.find(*id) : pending_.end();
  if (found == pending_.end()) {
    return;  // answered already
  }
  PendingRequest pending = std::move(found->second);
  pending_.erase(found);
  send_answer(id, ResponseError{error_code::kRequestCancelled, "cancelled"});
  guarded("cancelling " + pending.method, [&] { pending.cancel.cancel(); });
}

void Session::cancel_all() {
  for (auto& [id, pending] : std::exchange(pending_, {})) {
    guarded("cancelling " + pending.method, [&cancel = pending.cancel] { cancel.cancel(); });
  }
}

void Session::handle(protocol::Notification notification) {
  if (notification.method == "exit") {
    end("the client sent exit");
    return;
  }
  if (state_ == State::kStarted || state_ == State::kShutDown) {
    return;
  }
  if (const OwnHandler own = own_handler(notification.method)) {
    guarded(notification.method, [&] { (this->*own)(notification.params); });
    return;
  }
  const auto handler = service_.methods.notifications.find(notification.method);
  if (handler != service_.methods.notifications.end()) {
    guarded(notification.method, [&] { handler->second(*this, notification.params); });
  } else {
    spdlog::debug("session {}: ignored the notification {}", id_, for_log(notification.method));
  }
}

void Session::handle(protocol::Response response) {
  const auto* id = response.id.has_value() ? std::get_if<std::int64_t>(&*response.id) : nullptr;
  const auto found = id != nullptr ? asked_.find(*id) : asked_.end();
  if (found == asked_.end()) {
    spdlog::warn("session {}: the client answered a request that was not sent", id_);
    return;
  }
  const auto asked = std::move(found->second);
  asked_.erase(found);
  if (asked.second) {
    guarded("what follows " + asked.first, [&] { asked.second(std::move(response.outcome)); });
  }
}

}  // namespace ridgeline::lsp
