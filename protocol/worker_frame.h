// Frames on the channel between the daemon and a worker.
//
//   'R' 'L' version kind length(4, little-endian) payload
//
// A message is one frame of JSON; a recording is announced by a message and follows as frames of bytes. The bytes come
// from a process that runs user code: the decoder bounds everything and recovers nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace ridgeline::protocol {

inline constexpr std::uint8_t kWorkerProtocolVersion = 1;
inline constexpr std::size_t kFrameHeaderBytes = 8;
inline constexpr std::size_t kMaxMessageBytes = std::size_t{16} << 20U;
inline constexpr std::size_t kMaxChunkBytes = std::size_t{1} << 20U;

enum class FrameKind : std::uint8_t { kMessage = 1, kBytes = 2 };

struct Frame {
  FrameKind kind = FrameKind::kMessage;
  std::string payload;
};

struct FrameError {
  std::string what;
};

/// A message as a frame.
std::string encode_message(std::string_view json);

/// Turns a stream of bytes into frames. After an error it returns nothing but that error.
class FrameDecoder {
 public:
  void feed(std::string_view bytes);
  /// The next whole frame, an error, or nothing when more bytes are needed.
  std::optional<std::variant<Frame, FrameError>> next();

 private:
  std::string buffer_;
  std::size_t consumed_ = 0;
  std::optional<FrameError> error_;
};

}  // namespace ridgeline::protocol
