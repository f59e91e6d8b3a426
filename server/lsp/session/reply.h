// The answer to a request: given exactly once.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "protocol/json_rpc.h"

namespace ridgeline::lsp {

using Outcome = std::variant<protocol::Json, protocol::ResponseError>;

/// What a request is answered with when its handler throws: InvalidParams for protocol::InvalidValue and what
/// nlohmann::json throws, else InternalError.
protocol::ResponseError error_of(const std::exception_ptr& thrown);

/// Call result(), error() or answer() once, now or later, on the loop's thread. One that is destroyed unanswered
/// answers InternalError; a second answer is dropped and logged. It may outlive its session and a cancelled request:
/// then it answers nobody.
class Reply {
 public:
  /// Gets the answer, or nothing when there never will be one.
  using Send = std::function<void(std::optional<Outcome>)>;

  explicit Reply(Send send) : send_(std::move(send)) {}
  Reply(Reply&& other) noexcept : send_(std::exchange(other.send_, nullptr)) {}
  Reply& operator=(Reply&& other) noexcept;
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  ~Reply() { drop(); }

  void result(protocol::Json value);
  void error(int code, std::string message, protocol::Json data = {});
  void answer(Outcome outcome);

 private:
  void drop() noexcept;

  Send send_;
};

}  // namespace ridgeline::lsp
