// One connection to a client: whole messages in, whole messages out, whatever carries them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace ridgeline::lsp {

inline constexpr std::size_t kMaxMessageBytes = std::size_t{64} << 20U;
inline constexpr std::size_t kMaxWaitingBytes = std::size_t{64} << 20U;  ///< of what the other side has not yet read

class Transport;
/// Given a connection, once.
using ConnectionHandler = std::function<void(std::shared_ptr<Transport>)>;
/// Told why something ended or was refused, as a sentence.
using ReasonHandler = std::function<void(std::string reason)>;

/// Used on the loop's thread only; no call blocks. Handlers are called from the loop, never from within a call.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  struct Handlers {
    std::function<void(std::string message)> on_message;
    /// No more messages will come: the input ended, violated the protocol or was closed by the other side. Called once,
    /// after the last message, and not after close(). `reason`: a message; empty when the input just ended.
    ReasonHandler on_end;
  };
  /// Begins to read, or continues with other handlers.
  virtual void start(Handlers handlers) = 0;
  /// Queues a message. When more than kMaxWaitingBytes are queued, the connection is ended instead.
  virtual void send(std::string message) = 0;
  /// Stops reading, writes what is queued as far as the other side reads it within a second, and closes. Releases the
  /// handlers.
  virtual void close() = 0;
  /// Messages longer than this end the connection. Applies from the next message on.
  virtual void limit_messages(std::size_t bytes) = 0;
  /// Whether everything that was sent has been written, or the connection has ended.
  virtual bool idle() const = 0;
};

}  // namespace ridgeline::lsp
