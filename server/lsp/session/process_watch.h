// Notices the end of a process that is not our child.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "base/callback.h"

namespace ridgeline::lsp {

/// Calls `on_end` once, on the loop, soon after the process has ended; not once the result is destroyed. Nothing (null)
/// when no process of this user has that id now: then it says nothing about the one that gave the id, which may run on
/// another machine.
using WatchProcess =
    std::function<std::shared_ptr<void>(boost::asio::io_context& loop, pid_t process, base::Callback on_end)>;

/// By a pidfd, which the kernel makes readable at the end.
std::shared_ptr<void> watch_process_end(boost::asio::io_context& loop, pid_t process, base::Callback on_end);
/// Where the kernel has no pidfd: looks twice a second.
std::shared_ptr<void> poll_process_end(boost::asio::io_context& loop, pid_t process, base::Callback on_end);

}  // namespace ridgeline::lsp
