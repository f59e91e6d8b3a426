// A connection whose first message has been read to see what it is.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "transport/transport.h"

namespace ridgeline::transport {

/// Waits for the first message of a connection and hands both over, the connection as it was: it gives the message
/// again. Not called when the connection ends before. What this returns closes it, and does nothing afterwards.
std::function<void()> peek(boost::asio::io_context& loop, const std::shared_ptr<Transport>& connection,
                           std::function<void(std::shared_ptr<Transport> connection, const std::string& first)> then,
                           std::function<void()> on_end);

}  // namespace ridgeline::transport
