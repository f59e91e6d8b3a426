// A worker from start to end, for a command that waits for it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "protocol/worker_messages.h"
#include "worker/worker.h"

namespace ridgeline::commands {

/// Starts a worker, runs `spec` or, without one, only warms it up, and ends it. Blocks on a loop of its own; SIGINT and
/// SIGTERM cancel. `choose`, as a worker::Chooser has it, is called on another thread.
worker::Finished run_worker(const worker::WorkerOptions& options, const std::optional<protocol::RunSpec>& spec,
                            worker::RunLimits limits, const std::function<void(const protocol::Progress&)>& progress,
                            std::function<std::vector<int>(const worker::ChoiceAsked&)> choose = {});

}  // namespace ridgeline::commands
