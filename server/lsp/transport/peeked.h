// A connection whose first message has been read to see what it is.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/callback.h"
#include "lsp/transport/transport.h"

namespace ridgeline::lsp {

/// Waits for the first message of a connection, then calls `then` with both; the connection will deliver that message
/// again. `on_end` is called instead when the connection ends before. The returned function closes the connection while
/// it waits; afterwards it does nothing.
base::Callback peek(boost::asio::io_context& loop, const std::shared_ptr<Transport>& connection,
                    std::function<void(std::shared_ptr<Transport> connection, const std::string& first)> then,
                    base::Callback on_end);

}  // namespace ridgeline::lsp
