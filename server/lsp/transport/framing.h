// LSP's base protocol: a header that says how many bytes follow, and the bytes.
//
//   Content-Length: 42\r\n
//   \r\n
//   {"jsonrpc":"2.0", ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace ridgeline::lsp {

inline constexpr std::size_t kMaxHeaderBytes = std::size_t{8} << 10U;

struct FramingError {
  std::string what;
};

/// How messages follow each other: by LSP's header, or one on each line, as the Model Context Protocol has them.
enum class Framing : std::uint8_t { kHeader, kLine };

/// A message with its header, or with the end of its line; it has no line end of its own then.
std::string frame(std::string_view message, Framing framing = Framing::kHeader);

/// Turns a stream of bytes into messages. After an error it gives nothing but that error.
///
/// A stream must begin with one of LSP's own headers: what is not an LSP client, such as a browser, is recognised by
/// its first byte. Headers other than Content-Length are ignored, and names are case-insensitive.
class MessageReader {
 public:
  explicit MessageReader(std::size_t max_message_bytes, Framing framing = Framing::kHeader)
      : max_message_bytes_(max_message_bytes), framing_(framing) {}

  void feed(std::string_view bytes);
  /// The next whole message, an error, or nothing when more bytes are needed.
  std::optional<std::variant<std::string, FramingError>> next();
  /// For messages whose header has not been read yet.
  void limit(std::size_t max_message_bytes) { max_message_bytes_ = max_message_bytes; }
  /// Whether the stream is between two messages: nothing of the next one has arrived.
  bool at_boundary() const { return !length_.has_value() && consumed_ == buffer_.size(); }

 private:
  std::optional<std::variant<std::string, FramingError>> next_line();
  std::optional<FramingError> read_header();

  std::size_t max_message_bytes_;
  Framing framing_;
  std::string buffer_;
  std::size_t consumed_ = 0;
  std::optional<std::size_t> length_;  ///< of the message whose header has been read
  bool first_ = true;
  std::optional<FramingError> error_;
};

}  // namespace ridgeline::lsp
