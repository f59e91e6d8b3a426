// The first message of a connection over TCP, which any process of the machine can open: the token.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/callback.h"
#include "lsp/transport/transport.h"

namespace ridgeline::lsp {

/// Compares in a time that depends on the lengths alone.
bool same_secret(std::string_view left, std::string_view right);

struct AuthenticationLimits {
  std::chrono::milliseconds time{5000};
  std::size_t bytes = std::size_t{64} << 10U;
};

/// Waits for `ridgeline/authenticate` with the token, as a request, which is answered with null, or as a notification.
/// Then calls `on_success` with the connection, which has not been read any further. Anything else, or nothing in time,
/// closes the connection and calls `on_refusal` with the reason. Either is called once, from the loop or by what this
/// returns: it ends the waiting at once, and does nothing when that is over.
base::Callback authenticate(boost::asio::io_context& loop, std::shared_ptr<Transport> connection, std::string token,
                            AuthenticationLimits limits, ConnectionHandler on_success, ReasonHandler on_refusal);

}  // namespace ridgeline::lsp
