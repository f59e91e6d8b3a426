// The places that `--pipe` and `--socket` name: there we either are the one who listens, or join who does.
#pragma once

#include <sys/types.h>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "transport/transport.h"

namespace ridgeline::transport {

struct ListenerHandlers {
  std::function<void(std::shared_ptr<Transport>)> on_connection;
  /// Somebody was turned away, or could not be let in; why, as a sentence for the log.
  std::function<void(std::string)> on_refusal;
};

/// Lets clients in until it is destroyed.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;
  /// Of TCP; 0 for a Unix socket.
  virtual std::uint16_t port() const { return 0; }
};

struct EndpointProblem {
  std::string what;
};

/// A client listened, and we are connected to it; or we listen; or neither, and why.
using Endpoint = std::variant<std::shared_ptr<Transport>, std::unique_ptr<Listener>, EndpointProblem>;

/// Where nobody answers at `path`, listens there: the folder is made with mode 0700 if it is missing, the socket has
/// mode 0600, and only processes of this user are let in. What a dead process left there is replaced. Where a client
/// listens, connects to it, if it is this user's. Where another daemon of ours listens, that is a problem. The socket
/// is removed with the listener.
Endpoint open_pipe(boost::asio::io_context& loop, const std::string& path, ListenerHandlers handlers);

/// Connects to what listens at `path`, if it is this user's. Null: nobody does.
std::variant<std::shared_ptr<Transport>, EndpointProblem> join_pipe(boost::asio::io_context& loop,
                                                                    const std::string& path);

/// The same as open_pipe for 127.0.0.1:`port`. Port 0: listens on one that is free. Who connects must still be asked
/// for a token.
Endpoint open_port(boost::asio::io_context& loop, std::uint16_t port, ListenerHandlers handlers);

/// The users whose processes listen on a port, from the text of /proc/net/tcp or /proc/net/tcp6.
std::vector<uid_t> listening_users(std::string_view table, std::uint16_t port);

}  // namespace ridgeline::transport
