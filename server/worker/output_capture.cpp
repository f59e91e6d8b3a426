#include "worker/output_capture.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

namespace ridgeline::worker {

namespace {

constexpr std::size_t kKeptBytes = std::size_t{64} << 10U;

}  // namespace

OutputCapture::OutputCapture(boost::asio::io_context& loop, Descriptor end) : stream_(loop, end.release()) {
  boost::system::error_code ignored;
  stream_.non_blocking(true, ignored);
}

/// Waits and then reads: bytes that a read of Asio's has taken, and not yet told of, would be missing in tail().
void OutputCapture::read() {
  stream_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const auto& error) {
    if (!error && self->take()) {
      self->read();
    }
  });
}

bool OutputCapture::take() {
  boost::system::error_code error;
  const std::size_t count = stream_.read_some(boost::asio::buffer(chunk_), error);
  text_.append(chunk_.data(), count);
  if (on_text_ && count > 0) {
    on_text_({chunk_.data(), count});
  }
  if (text_.size() > 2 * kKeptBytes) {
    text_.erase(0, text_.size() - kKeptBytes);
  }
  return !error || error == boost::asio::error::would_block;
}

std::string OutputCapture::tail() {
  boost::system::error_code error;
  for (std::size_t taken = 0; !error && taken < 8 * kKeptBytes;) {
    const std::size_t count = stream_.read_some(boost::asio::buffer(chunk_), error);
    text_.append(chunk_.data(), count);
    if (on_text_ && count > 0) {
      on_text_({chunk_.data(), count});
    }
    taken += count;
  }
  return text_.size() > kKeptBytes ? text_.substr(text_.size() - kKeptBytes) : text_;
}

}  // namespace ridgeline::worker
