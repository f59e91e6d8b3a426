// JSON-RPC 2.0 messages as values: read from untrusted text, written as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace ridgeline::protocol {

using Json = nlohmann::json;

/// Codes of errors, of JSON-RPC and of LSP.
namespace error_code {
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kServerNotInitialized = -32002;
inline constexpr int kUnknownErrorCode = -32001;
inline constexpr int kRequestFailed = -32803;    ///< the request was valid, but it failed
inline constexpr int kServerCancelled = -32802;  ///< by the server; only for requests that allow it
inline constexpr int kContentModified = -32801;  ///< the document has changed since the request
inline constexpr int kRequestCancelled = -32800;
}  // namespace error_code

/// Identifies a request. LSP gives progress tokens the same type.
using RequestId = std::variant<std::int64_t, std::string>;
using ProgressToken = RequestId;

struct Request {
  RequestId id;
  std::string method;
  Json params;  ///< an object, an array, or null when there are none
};

struct Notification {
  std::string method;
  Json params;  ///< as a request's
};

struct ResponseError {
  int code = 0;
  std::string message;
  Json data{};  ///< null: none
};

struct Response {
  std::optional<RequestId> id;  ///< nothing: the request could not be read
  std::variant<Json, ResponseError> outcome;
};

using Message = std::variant<Request, Notification, Response>;

/// The text is not a valid message: what to answer.
struct Malformed {
  ResponseError error;
  std::optional<RequestId> id{};
  bool is_response = false;  ///< an invalid response: it is not answered
};

inline constexpr std::size_t kMaxNesting = 128;
inline constexpr std::size_t kMaxJsonValues = std::size_t{1} << 20U;

/// Reads one message. If a member occurs twice, the last one counts; unknown members are ignored; half a
/// surrogate pair becomes U+FFFD, as an editor may send it while a pair is typed. Batches, which LSP does not have, are
/// malformed, and so is what is nested deeper than kMaxNesting or has more than kMaxJsonValues values. Throws
/// nothing but std::bad_alloc.
std::variant<Message, Malformed> parse_message(std::string_view text);

/// As text, on one line. Invalid UTF-8 is replaced by U+FFFD. An error's message is escaped, since editors show it.
std::string encode(const Message& message);

/// The message without the library's prefix: "[json.exception.parse_error.101] ".
std::string message_of(const Json::exception& problem);

/// For logs: 7 or "abc".
std::string to_text(const RequestId& id);

Json to_json(const RequestId& id);
/// Nothing when it is neither an integer nor a string.
std::optional<RequestId> read_request_id(const Json& value);

}  // namespace ridgeline::protocol
