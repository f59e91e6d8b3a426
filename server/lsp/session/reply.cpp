#include "lsp/session/reply.h"

#include <spdlog/spdlog.h>

#include <exception>
#include <utility>

#include "protocol/json_fields.h"

namespace ridgeline::lsp {

Reply& Reply::operator=(Reply&& other) noexcept {
  if (this != &other) {
    drop();
    send_ = std::exchange(other.send_, nullptr);
  }
  return *this;
}

void Reply::result(protocol::Json value) { answer(std::move(value)); }

void Reply::error(int code, std::string message, protocol::Json data) {
  answer(protocol::ResponseError{code, std::move(message), std::move(data)});
}

void Reply::answer(Outcome outcome) {
  if (const Send send = std::exchange(send_, nullptr)) {
    send(std::move(outcome));
  } else {
    spdlog::error("a request was answered twice");
  }
}

void Reply::drop() noexcept {
  try {
    if (const Send send = std::exchange(send_, nullptr)) {
      send(std::nullopt);
    }
  } catch (const std::exception& problem) {
    spdlog::error("a request could not be answered: {}", problem.what());
  }
}

protocol::ResponseError error_of(const std::exception_ptr& thrown) {
  namespace error_code = protocol::error_code;
  try {
    std::rethrow_exception(thrown);
  } catch (const protocol::InvalidValue& problem) {
    return {error_code::kInvalidParams, problem.what()};
  } catch (const protocol::Json::exception& problem) {
    return {error_code::kInvalidParams, protocol::message_of(problem)};
  } catch (const std::exception& problem) {
    spdlog::error("a request failed: {}", problem.what());
    return {error_code::kInternalError, problem.what()};
  } catch (...) {
    return {error_code::kInternalError, "failed for an unknown reason"};
  }
}

}  // namespace ridgeline::lsp
