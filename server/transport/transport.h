// One connection to a client: whole messages in, whole messages out, whatever carries them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace ridgeline::transport {

inline constexpr std::size_t kMaxMessageBytes = std::size_t{64} << 20U;
inline constexpr std::size_t kMaxWaitingBytes = std::size_t{64} << 20U;  ///< of what the other side has not yet read

/// Lives on the loop's thread; no call blocks and none calls back. Everything is told from the loop.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  struct Handlers {
    std::function<void(std::string message)> on_message;
    /// Nothing more comes: the input ended, broke a rule or was closed from the other side. Called once, after the last
    /// message, and not after close(). `reason`: in words; empty when the input just ended.
    std::function<void(std::string reason)> on_end;
  };
  /// Begins to read, or goes on with other handlers.
  virtual void start(Handlers handlers) = 0;
  /// Puts a message behind those that wait. When more than kMaxWaitingBytes wait, the connection ends instead.
  virtual void send(std::string message) = 0;
  /// Stops reading, writes what waits as far as the other side takes it within a second, closes. Handlers are dropped.
  virtual void close() = 0;
  /// Messages longer than this end the connection. Holds from the next message on.
  virtual void limit_messages(std::size_t bytes) = 0;
  /// Everything that was sent has been taken, or the connection is gone.
  virtual bool idle() const = 0;
};

}  // namespace ridgeline::transport
