#include "protocol/worker_frame.h"

namespace ridgeline::protocol {

namespace {

std::uint32_t read_length(std::string_view header) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    length |= std::uint32_t{static_cast<std::uint8_t>(header[4 + i])} << (8 * i);
  }
  return length;
}

}  // namespace

std::string encode_message(std::string_view json) {
  std::string frame = {'R', 'L', static_cast<char>(kWorkerProtocolVersion), static_cast<char>(FrameKind::kMessage)};
  for (std::size_t i = 0; i < 4; ++i) {
    frame.push_back(static_cast<char>((json.size() >> (8 * i)) & 0xFFU));
  }
  return frame.append(json);
}

void FrameDecoder::feed(std::string_view bytes) {
  if (error_.has_value()) {
    return;
  }
  if (consumed_ > 0 && consumed_ == buffer_.size()) {
    buffer_.clear();
    consumed_ = 0;
  } else if (consumed_ > kMaxChunkBytes) {
    buffer_.erase(0, consumed_);
    consumed_ = 0;
  }
  buffer_.append(bytes);
}

std::optional<std::variant<Frame, FrameError>> FrameDecoder::next() {
  if (error_.has_value()) {
    return *error_;
  }
  const std::string_view rest = std::string_view(buffer_).substr(consumed_);
  if (rest.size() < kFrameHeaderBytes) {
    return std::nullopt;
  }
  const auto version = static_cast<std::uint8_t>(rest[2]);
  const auto kind = static_cast<FrameKind>(rest[3]);
  const std::size_t length = read_length(rest);
  const bool message = kind == FrameKind::kMessage;
  if (rest[0] != 'R' || rest[1] != 'L') {
    error_ = FrameError{"the worker wrote something that is not a frame"};
  } else if (version != kWorkerProtocolVersion) {
    error_ = FrameError{"the worker speaks version " + std::to_string(version) + " of the channel"};
  } else if ((!message && kind != FrameKind::kBytes) || length > (message ? kMaxMessageBytes : kMaxChunkBytes)) {
    error_ = FrameError{"the worker sent a frame that is too large or of no known kind"};
  }
  if (error_.has_value()) {
    return *error_;
  }
  if (rest.size() < kFrameHeaderBytes + length) {
    return std::nullopt;
  }
  consumed_ += kFrameHeaderBytes + length;
  return Frame{kind, std::string(rest.substr(kFrameHeaderBytes, length))};
}

}  // namespace ridgeline::protocol
