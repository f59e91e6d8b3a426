// The runs of an entry point that a command makes, in one interpreter that stays warm between them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/entry_profiler.h"
#include "app/experiment_runner.h"
#include "app/profiling/profile_entry.h"
#include "app/profiling/request.h"
#include "base/callback.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "cli/exit_codes.h"
#include "cli/interrupts.h"
#include "cli/progress_line.h"
#include "protocol/worker_messages.h"
#include "worker/worker.h"

namespace ridgeline::cli {

/// A worker on a loop of its own, for a command that waits for it. SIGINT and SIGTERM cancel while a call waits.
class BlockingWorker {
 public:
  using ShowProgress = base::FunctionRef<void(const protocol::Progress&)>;

  explicit BlockingWorker(worker::WorkerOptions options);

  /// Starts the interpreter where it does not run yet.
  worker::Finished run(const app::PlannedRun& plan, ShowProgress progress);
  /// Does all that comes before a run.
  worker::Finished warm_up(worker::RunLimits limits, ShowProgress progress);

 private:
  worker::Finished wait(ShowProgress progress, base::FunctionRef<void(worker::EventHandler)> begin);

  boost::asio::io_context loop_;
  worker::Reaper reaper_;
  worker::Worker worker_;
};

/// For use cases: waits for each run, with its progress on the terminal. `request` outlives it.
class EntryRuns final : public app::EntryRunner, public app::ExperimentRunner {
 public:
  EntryRuns(const app::ProfileRequest& request, app::Target target)
      : request_(request), target_(std::move(target)), worker_({target_.interpreter.path, target_.cache}) {}

  const app::ProfileRequest& request() const { return request_; }
  const app::Target& target() const { return target_; }
  /// Profiles the entry point, unless its text shows that it is none.
  base::Task<base::Result<app::ProfileRun, app::RunFailure>> profile();

  base::Task<std::shared_ptr<worker::Finished>> run(app::PlannedRun plan, app::RemainingTime& remaining) override;
  base::Task<app::ExperimentOutcome> run(protocol::Experiment experiment) override;
  void show(const protocol::Progress& step, const protocol::Progress& timed) override { line_->show(step, timed); }
  void warn(const std::string& text) override;
  base::Task<void> off_loop(base::Callback work) override;
  std::string cache() const override { return target_.cache; }

 private:
  const app::ProfileRequest& request_;
  const app::Target target_;
  BlockingWorker worker_;
  std::optional<ProgressLine> line_;  ///< of the run that goes on
};

/// The runs of what the request names; a failure is written to stderr. `request` outlives them.
base::Result<std::unique_ptr<EntryRuns>, ExitCode> open_entry_runs(const app::ProfileRequest& request);

/// Profiles, and keeps the profile unless the request says not to. A failure is written to stderr.
base::Result<app::ProfileRun, ExitCode> profile_now(EntryRuns& runs);
/// The same in an interpreter of its own.
base::Result<app::ProfileRun, ExitCode> profile_now(const app::ProfileRequest& request);

/// For use cases that profile several times; progress goes to stderr. While it exists, interrupts end profiles only, so
/// that the use case can clean up.
class CommandProfiler final : public app::EntryProfiler {
 public:
  base::Task<base::Result<app::ProfileRun, app::RunFailure>> profile(app::ProfileRequest request,
                                                                     app::Target target) override;
  void announce(const std::string& text) override;

 private:
  Interrupts interrupts_;
};

}  // namespace ridgeline::cli
