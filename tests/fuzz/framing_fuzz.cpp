// Streams of bytes as frames: LSP's and those of a worker. However a stream is cut into pieces, the messages are the
// same, and after an error there is nothing but that error.
#include <string>
#include <variant>
#include <vector>

#include "lsp/transport/framing.h"
#include "protocol/worker_frame.h"
#include "tests/fuzz/fuzz.h"

namespace {

using ridgeline::fuzz::Input;

constexpr std::size_t kMaxMessage = 1U << 16U;

std::string text_of(const std::variant<std::string, ridgeline::lsp::FramingError>& next) {
  const auto* message = std::get_if<std::string>(&next);
  return message != nullptr ? "message " + *message : "error " + std::get<ridgeline::lsp::FramingError>(next).what;
}
std::string text_of(const std::variant<ridgeline::protocol::Frame, ridgeline::protocol::FrameError>& next) {
  const auto* frame = std::get_if<ridgeline::protocol::Frame>(&next);
  return frame != nullptr ? std::to_string(static_cast<int>(frame->kind)) + " " + frame->payload
                          : "error " + std::get<ridgeline::protocol::FrameError>(next).what;
}

template <typename Reader>
std::vector<std::string> read(Reader reader, std::string_view stream, std::size_t piece) {
  std::vector<std::string> found;
  while (!stream.empty()) {
    reader.feed(stream.substr(0, piece));
    stream.remove_prefix(std::min(piece, stream.size()));
    while (const auto next = reader.next()) {
      found.push_back(text_of(*next));
      if (found.back().starts_with("error ")) {
        return found;
      }
    }
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::size_t piece = 1 + input.number(300);
  const std::string stream(input.rest());
  const ridgeline::lsp::MessageReader lsp(kMaxMessage);
  CLAIM(read(lsp, stream, piece) == read(lsp, stream, stream.size()));
  const ridgeline::protocol::FrameDecoder worker;
  CLAIM(read(worker, stream, piece) == read(worker, stream, stream.size()));
  return 0;
}
