// A Transport over file descriptors: standard input and output, or a connected socket.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/callback.h"
#include "base/result.h"
#include "lsp/transport/framing.h"
#include "lsp/transport/transport.h"

namespace ridgeline::lsp {

/// Reads and writes any kind of descriptor: a pipe, a socket, a terminal, a file, /dev/null. Created by make_shared;
/// pending operations keep it alive. The process must ignore SIGPIPE.
class StreamTransport : public Transport, public std::enable_shared_from_this<StreamTransport> {
 public:
  /// Takes ownership of the descriptors. `output` may be the same as `input`.
  StreamTransport(boost::asio::io_context& loop, int input, int output, Framing framing = Framing::kHeader);
  ~StreamTransport() override;
  StreamTransport(const StreamTransport&) = delete;
  StreamTransport& operator=(const StreamTransport&) = delete;

  void start(Handlers handlers) override;
  void send(std::string message) override;
  void close() override;
  void limit_messages(std::size_t bytes) override { reader_.limit(bytes); }
  bool idle() const override { return queue_.empty(); }
  /// Called once, before the descriptors are closed.
  void before_close(base::Callback action) { before_close_ = std::move(action); }

 private:
  using Stream = boost::asio::posix::stream_descriptor;

  Stream& output() { return output_.has_value() ? *output_ : input_; }
  void read();
  void deliver();
  void end(std::string reason);
  void write();
  void close_streams();

  boost::asio::io_context& loop_;
  Stream input_;
  std::optional<Stream> output_;  ///< empty: input_ is used for both directions
  boost::asio::steady_timer close_timer_;
  std::shared_ptr<Handlers> handlers_;
  Framing framing_;
  MessageReader reader_;
  std::array<char, 16384> chunk_{};
  bool reading_ = false;
  bool ended_ = false;    ///< on_end was called, or will be
  bool closing_ = false;  ///< close() was called
  std::deque<std::string> queue_;
  std::size_t waiting_bytes_ = 0;  ///< in queue_
  base::Callback before_close_;
};

/// Takes over the process's standard input and output: from here on descriptor 0 is /dev/null and 1 is standard error,
/// so that nothing else can write into the protocol. Closing the transport restores the modes of the original ones.
/// Nothing, with the reason in `error`, when one of them is not open.
base::Result<std::shared_ptr<StreamTransport>> take_standard_streams(boost::asio::io_context& loop,
                                                                     Framing framing = Framing::kHeader);

}  // namespace ridgeline::lsp
