// The addresses of `--pipe` and `--socket`: we connect to whoever listens there, else listen ourselves.
#pragma once

#include <sys/types.h>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lsp/transport/transport.h"

namespace ridgeline::lsp {

struct ListenerHandlers {
  ConnectionHandler on_connection;
  /// A connection was refused or could not be accepted; the reason, as a sentence for the log.
  ReasonHandler on_refusal;
};

/// Accepts connections until it is destroyed.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;
  /// The TCP port; 0 for a Unix socket.
  virtual std::uint16_t port() const { return 0; }
};

struct EndpointProblem {
  std::string what;
};

/// A connection to a client that was listening; or our own listener; or why there is neither.
using Endpoint = std::variant<std::shared_ptr<Transport>, std::unique_ptr<Listener>, EndpointProblem>;

/// When a client of this user listens at `path`, connects to it. When nobody does, listens there: a missing folder is
/// created with mode 0700, the socket has mode 0600, and only processes of this user are accepted; the socket of a
/// process that has ended is replaced. When another daemon of ours listens there, returns a problem. The socket is
/// removed with the listener.
Endpoint open_pipe(boost::asio::io_context& loop, const std::string& path, ListenerHandlers handlers);

/// Connects to the process of this user that listens at `path`. Null: nobody listens.
std::variant<std::shared_ptr<Transport>, EndpointProblem> join_pipe(boost::asio::io_context& loop,
                                                                    const std::string& path);

/// As open_pipe, for 127.0.0.1:`port`. Port 0: listens on any free port. The caller must ask whoever connects for a
/// token.
Endpoint open_port(boost::asio::io_context& loop, std::uint16_t port, ListenerHandlers handlers);

/// The users whose processes listen on a port, from the text of /proc/net/tcp or /proc/net/tcp6.
std::vector<uid_t> listening_users(std::string_view table, std::uint16_t port);

}  // namespace ridgeline::lsp
