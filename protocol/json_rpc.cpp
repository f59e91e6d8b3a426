#include "protocol/json_rpc.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json_problem.h"
#include "protocol/json_fields.h"
#include "protocol/shown_text.h"

namespace ridgeline::protocol {

namespace {

/// What can be said of JSON text before it is parsed.
struct Shape {
  std::size_t nesting = 0;
  std::size_t values = 1;  ///< at most: also counts what stands between commas in text that is no JSON
  std::vector<std::size_t> lone_surrogates;  ///< where their four digits are
};

/// The number in the four digits of \uXXXX; nothing when they are none.
std::optional<unsigned> hex_digits(std::string_view digits) {
  unsigned number = 0;
  for (const char digit : digits) {
    const auto lower = static_cast<unsigned char>(digit | 0x20);
    if (digit >= '0' && digit <= '9') {
      number = number * 16 + static_cast<unsigned>(digit - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      number = number * 16 + static_cast<unsigned>(lower - 'a') + 10;
    } else {
      return std::nullopt;
    }
  }
  return digits.size() == 4 ? std::optional(number) : std::nullopt;
}

std::optional<unsigned> escaped_unit(std::string_view text, std::size_t backslash) {
  const std::string_view escape = text.substr(std::min(backslash, text.size()), 6);
  return escape.starts_with("\\u") ? hex_digits(escape.substr(2)) : std::nullopt;
}

/// Notes the escape at `backslash` when it is half a pair. Returns the byte behind what was looked at.
std::size_t read_escape(std::string_view text, std::size_t backslash, Shape& shape) {
  const std::optional<unsigned> unit = escaped_unit(text, backslash);
  if (!unit.has_value()) {
    return backslash + 2;
  }
  const bool first = *unit >= 0xD800 && *unit < 0xDC00;
  if (first) {
    const unsigned next = escaped_unit(text, backslash + 6).value_or(0);
    if (next >= 0xDC00 && next < 0xE000) {
      return backslash + 12;
    }
  }
  if (first || (*unit >= 0xDC00 && *unit < 0xE000)) {
    shape.lone_surrogates.push_back(backslash + 2);
  }
  return backslash + 6;
}

/// Returns the byte behind a string that begins at `begin`.
std::size_t skip_string(std::string_view text, std::size_t begin, Shape& shape) {
  for (std::size_t i = begin + 1; i < text.size();) {
    if (text[i] == '\\') {
      i = read_escape(text, i, shape);
    } else if (text[i++] == '"') {
      return i;
    }
  }
  return text.size();
}

Shape shape_of(std::string_view text) {
  Shape shape;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    switch (text[i]) {
      case '"':
        i = skip_string(text, i, shape);
        continue;
      case '[':
      case '{':
        shape.nesting = std::max(shape.nesting, ++depth);
        ++shape.values;
        break;
      case ']':
      case '}':
        depth -= depth > 0 ? 1 : 0;
        break;
      case ',':
        ++shape.values;
        break;
      default:
        break;
    }
    ++i;
  }
  return shape;
}

Malformed invalid(std::string message, std::optional<RequestId> id = {}) {
  return {{error_code::kInvalidRequest, std::move(message)}, std::move(id)};
}

std::variant<Message, Malformed> read_call(Json& json, const std::optional<RequestId>& id) {
  const bool has_id = json.contains("id");
  if (has_id && !id.has_value()) {
    return invalid("the id of a request must be an integer or a string");
  }
  if (!json["method"].is_string()) {
    return invalid("the method must be a string", id);
  }
  Json params = json.contains("params") ? std::move(json["params"]) : Json();
  if (!params.is_structured() && !params.is_null()) {
    return invalid("params must be an object or an array", id);
  }
  auto method = std::move(json["method"].get_ref<std::string&>());
  if (!has_id) {
    return Notification{std::move(method), std::move(params)};
  }
  return Request{*id, std::move(method), std::move(params)};
}

std::variant<Message, Malformed> read_response(Json& json, const std::optional<RequestId>& id) {
  Malformed malformed = invalid("this response has neither a result nor a valid error", id);
  malformed.is_response = true;
  const auto error = json.find("error");
  if (error == json.end() || (error->is_null() && json.contains("result"))) {
    return json.contains("result") && id.has_value()
               ? std::variant<Message, Malformed>(Response{id, std::move(json["result"])})
               : malformed;
  }
  try {
    ResponseError response_error{member<int>(*error, "code"), member<std::string>(*error, "message"),
                                 error->value("data", Json())};
    return Response{id, std::move(response_error)};
  } catch (const InvalidValue&) {
    return malformed;
  }
}

std::variant<Message, Malformed> read_message(Json json) {
  if (json.is_array()) {
    return invalid("batches are not supported: send one message at a time");
  }
  if (!json.is_object()) {
    return invalid("a message must be an object");
  }
  const std::optional<RequestId> id = json.contains("id") ? read_request_id(json["id"]) : std::nullopt;
  const bool is_response = !json.contains("method") && (json.contains("result") || json.contains("error"));
  if (json.value("jsonrpc", Json()) != "2.0") {
    Malformed malformed = invalid("jsonrpc must be \"2.0\"", id);
    malformed.is_response = is_response;
    return malformed;
  }
  if (is_response) {
    return read_response(json, id);
  }
  return json.contains("method") ? read_call(json, id)
                                 : invalid("this is not a request, a notification or a response", id);
}

Json body_of(const Message& message) {
  Json json = {{"jsonrpc", "2.0"}};
  if (const auto* request = std::get_if<Request>(&message)) {
    json["id"] = to_json(request->id);
    json["method"] = request->method;
    if (!request->params.is_null()) {
      json["params"] = request->params;
    }
  } else if (const auto* notification = std::get_if<Notification>(&message)) {
    json["method"] = notification->method;
    if (!notification->params.is_null()) {
      json["params"] = notification->params;
    }
  } else {
    const auto& response = std::get<Response>(message);
    json["id"] = response.id.has_value() ? to_json(*response.id) : Json();
    if (const auto* error = std::get_if<ResponseError>(&response.outcome)) {
      json["error"] = {{"code", error->code}, {"message", message_text(error->message)}};
      if (!error->data.is_null()) {
        json["error"]["data"] = error->data;
      }
    } else {
      json["result"] = std::get<Json>(response.outcome);
    }
  }
  return json;
}

}  // namespace

std::variant<Message, Malformed> parse_message(std::string_view text) {
  const Shape shape = shape_of(text);
  if (shape.nesting > kMaxNesting) {
    return invalid("nested deeper than " + std::to_string(kMaxNesting) + " levels");
  }
  if (shape.values > kMaxJsonValues) {
    return invalid("more than " + std::to_string(kMaxJsonValues) + " values in one message");
  }
  try {
    if (shape.lone_surrogates.empty()) {
      return read_message(Json::parse(text));
    }
    std::string mended(text);
    for (const std::size_t digits : shape.lone_surrogates) {
      mended.replace(digits, 4, "fffd");
    }
    return read_message(Json::parse(mended));
  } catch (const Json::exception& problem) {
    return Malformed{{error_code::kParseError, message_of(problem)}};
  }
}

std::string encode(const Message& message) {
  return body_of(message).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string message_of(const Json::exception& problem) { return base::json_problem(problem.what()); }

std::string to_text(const RequestId& id) { return to_json(id).dump(-1, ' ', false, Json::error_handler_t::replace); }

Json to_json(const RequestId& id) {
  return std::visit([](const auto& value) { return Json(value); }, id);
}

std::optional<RequestId> read_request_id(const Json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  try {
    return value_as<std::int64_t>(value);
  } catch (const InvalidValue&) {
    return std::nullopt;
  }
}

}  // namespace ridgeline::protocol
