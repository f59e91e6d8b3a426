// A worker from start to end, for a command that waits for it.
#pragma once

#include <functional>
#include <optional>

#include "protocol/worker_messages.h"
#include "worker/worker.h"

namespace ridgeline::commands {

/// Starts a worker, runs `spec` or, without one, only warms it up, and ends it. Blocks on a loop of its own; SIGINT and
/// SIGTERM cancel. `choose` as Worker::run() takes it.
worker::Finished run_worker(const worker::WorkerOptions& options, const std::optional<protocol::RunSpec>& spec,
                            worker::RunLimits limits, const std::function<void(const protocol::Progress&)>& progress,
                            worker::Chooser choose = {});

}  // namespace ridgeline::commands
