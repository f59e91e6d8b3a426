// The runs of an entry point that a command makes, in one interpreter that stays warm between them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <vector>

#include "app/profiling/profile_run.h"
#include "app/profiling/request.h"
#include "app/profiling/size_chooser.h"
#include "protocol/worker_messages.h"
#include "worker/worker.h"

namespace ridgeline::cli {

using ShowProgress = std::function<void(const protocol::Progress&)>;

/// A worker on a loop of its own, for a command that waits for it. SIGINT and SIGTERM cancel while a call waits.
class BlockingWorker {
 public:
  explicit BlockingWorker(worker::WorkerOptions options);

  /// Starts the interpreter where it does not run yet. `choose`, as a worker::Chooser has it, is called on another
  /// thread.
  worker::Finished run(const protocol::RunSpec& spec, worker::RunLimits limits, const ShowProgress& progress,
                       std::function<std::vector<int>(const worker::ChoiceAsked&)> choose = {});
  /// Does all that comes before a run.
  worker::Finished warm_up(worker::RunLimits limits, const ShowProgress& progress);

 private:
  using Handler = std::function<void(worker::Event)>;
  worker::Finished wait(const ShowProgress& progress, const std::function<void(Handler)>& begin);

  boost::asio::io_context loop_;
  worker::Reaper reaper_;
  worker::Worker worker_;
};

/// `request` and `target` outlive it.
class EntryRuns {
 public:
  EntryRuns(const app::ProfileRequest& request, const app::Target& target)
      : request_(request), target_(target), worker_({target.interpreter.path, target.cache}) {}

  const app::ProfileRequest& request() const { return request_; }
  const app::Target& target() const { return target_; }

  worker::Finished run(const app::PlannedRun& plan, const ShowProgress& progress) {
    return worker_.run(plan.spec, plan.limits, progress, app::chooser_of(plan));
  }

 private:
  const app::ProfileRequest& request_;
  const app::Target& target_;
  BlockingWorker worker_;
};

}  // namespace ridgeline::cli
