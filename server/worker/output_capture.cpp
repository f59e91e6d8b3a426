#include "worker/output_capture.h"

#include <boost/asio/buffer.hpp>

namespace ridgeline::worker {

namespace {

constexpr std::size_t kKeptBytes = std::size_t{64} << 10U;

}  // namespace

OutputCapture::OutputCapture(boost::asio::io_context& loop, Descriptor end) : stream_(loop, end.release()) {}

void OutputCapture::read() {
  stream_.async_read_some(boost::asio::buffer(chunk_),
                          [self = shared_from_this()](const auto& error, std::size_t count) {
                            if (error) {
                              return;
                            }
                            self->text_.append(self->chunk_.data(), count);
                            if (self->text_.size() > 2 * kKeptBytes) {
                              self->text_.erase(0, self->text_.size() - kKeptBytes);
                            }
                            self->read();
                          });
}

std::string OutputCapture::tail() {
  boost::system::error_code error;
  stream_.non_blocking(true, error);
  while (!error && text_.size() <= 8 * kKeptBytes) {
    const std::size_t count = stream_.read_some(boost::asio::buffer(chunk_), error);
    text_.append(chunk_.data(), count);
  }
  return text_.size() > kKeptBytes ? text_.substr(text_.size() - kKeptBytes) : text_;
}

}  // namespace ridgeline::worker
