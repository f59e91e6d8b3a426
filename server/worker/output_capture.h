// What a process writes to stdout and stderr.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/worker_messages.h"
#include "worker/process.h"

namespace ridgeline::worker {

/// Reads for ever, so that the process never blocks, and keeps the end. Lives on the loop, in a shared_ptr.
class OutputCapture : public std::enable_shared_from_this<OutputCapture> {
 public:
  /// `end` is the reading end of a pipe.
  OutputCapture(boost::asio::io_context& loop, Descriptor end);

  /// `on_text`: called with what was written, as it comes.
  void start(protocol::OutputHandler on_text = {}) {
    on_text_ = std::move(on_text);
    read();
  }
  /// The last 64 KiB, with what still sits in the pipe.
  std::string tail();
  void close() {
    on_text_ = nullptr;
    stream_.close();
  }

 private:
  void read();
  /// Reads what is there, at most a chunk. False at the end.
  bool take();

  boost::asio::posix::stream_descriptor stream_;
  std::array<char, 16384> chunk_{};
  std::string text_;
  protocol::OutputHandler on_text_;
};

}  // namespace ridgeline::worker
