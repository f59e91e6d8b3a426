// Two transports in one process: what is sent on the one arrives at the other.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <utility>

#include "lsp/transport/transport.h"

namespace ridgeline::lsp {

/// Both live on the loop. When one is closed or destroyed, the other ends.
std::pair<std::shared_ptr<Transport>, std::shared_ptr<Transport>> make_local_pair(boost::asio::io_context& loop);

}  // namespace ridgeline::lsp
