#include "lsp/transport/framing.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace ridgeline::lsp {

namespace {

constexpr std::string_view kEndOfLine = "\r\n";
constexpr std::string_view kEndOfHeader = "\r\n\r\n";
constexpr std::string_view kOwnHeaders = "content-";  ///< Content-Length and Content-Type

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return result;
}

/// RFC 7230, 3.2.6: what names of headers are made of.
bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char letter) {
    return std::isalnum(letter) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(letter)) != std::string_view::npos;
  });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<std::size_t> number(std::string_view digits) {
  std::size_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return problem == std::errc() && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

std::variant<std::size_t, FramingError> content_length(std::string_view header) {
  std::optional<std::size_t> length;
  while (!header.empty()) {
    const std::string_view line = header.substr(0, header.find(kEndOfLine));
    header.remove_prefix(std::min(header.size(), line.size() + kEndOfLine.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_name(line.substr(0, colon))) {
      return FramingError{"a line of a message's header is not NAME: VALUE"};
    }
    if (lower(line.substr(0, colon)) != "content-length") {
      continue;
    }
    const std::optional<std::size_t> value = number(trimmed(line.substr(colon + 1)));
    if (!value.has_value() || (length.has_value() && length != value)) {
      return FramingError{"a message's Content-Length is not a number of bytes"};
    }
    length = value;
  }
  if (!length.has_value()) {
    return FramingError{"a message's header has no Content-Length"};
  }
  return *length;
}

}  // namespace

std::string frame(std::string_view message, Framing framing) {
  if (framing == Framing::kLine) {
    return std::string(message).append(1, '\n');
  }
  std::string framed = "Content-Length: " + std::to_string(message.size()) + "\r\n\r\n";
  return framed.append(message);
}

void MessageReader::feed(std::string_view bytes) {
  if (error_.has_value()) {
    return;
  }
  if (consumed_ == buffer_.size()) {
    buffer_.clear();
    consumed_ = 0;
  } else if (consumed_ > kMaxHeaderBytes) {
    buffer_.erase(0, consumed_);
    consumed_ = 0;
  }
  buffer_.append(bytes);
}

std::optional<FramingError> MessageReader::read_header() {
  const std::string_view rest = std::string_view(buffer_).substr(consumed_);
  const std::string beginning = lower(rest.substr(0, kOwnHeaders.size()));
  if (first_ && !kOwnHeaders.starts_with(beginning)) {
    return FramingError{"this is not an LSP client: its first bytes are not a Content-Length header"};
  }
  const std::string_view block = rest.substr(0, kMaxHeaderBytes);
  const std::size_t end = block.find(kEndOfHeader);
  if (end == std::string_view::npos) {
    return rest.size() < kMaxHeaderBytes ? std::nullopt
                                         : std::optional(FramingError{"a message's header is longer than " +
                                                                      std::to_string(kMaxHeaderBytes) + " bytes"});
  }
  const auto length = content_length(block.substr(0, end));
  if (const auto* error = std::get_if<FramingError>(&length)) {
    return *error;
  }
  const std::size_t bytes = std::get<std::size_t>(length);
  if (bytes > max_message_bytes_) {
    return FramingError{"a message of " + std::to_string(bytes) + " bytes is longer than " +
                        std::to_string(max_message_bytes_)};
  }
  length_ = bytes;
  consumed_ += end + kEndOfHeader.size();
  first_ = false;
  return std::nullopt;
}

std::optional<std::variant<std::string, FramingError>> MessageReader::next_line() {
  while (!error_.has_value()) {
    const std::size_t end = buffer_.find('\n', consumed_);
    if ((end == std::string::npos ? buffer_.size() : end) - consumed_ > max_message_bytes_) {
      error_ = FramingError{"a line is longer than " + std::to_string(max_message_bytes_) + " bytes"};
      break;
    }
    if (end == std::string::npos) {
      return std::nullopt;
    }
    std::string line = buffer_.substr(consumed_, end - consumed_);
    consumed_ = end + 1;
    if (line.find_first_not_of(" \t\r") != std::string::npos) {
      return line;
    }
  }
  return *error_;
}

std::optional<std::variant<std::string, FramingError>> MessageReader::next() {
  if (framing_ == Framing::kLine) {
    return next_line();
  }
  if (!error_.has_value() && !length_.has_value() && consumed_ < buffer_.size()) {
    error_ = read_header();
  }
  if (error_.has_value()) {
    return *error_;
  }
  if (!length_.has_value() || buffer_.size() - consumed_ < *length_) {
    return std::nullopt;
  }
  std::string message = buffer_.substr(consumed_, *length_);
  consumed_ += *length_;
  length_.reset();
  return message;
}

}  // namespace ridgeline::lsp
