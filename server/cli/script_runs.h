// The runs of a training script for what-if answers: its profile, and the further runs for experiments.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment_runner.h"
#include "app/profiling/request.h"
#include "app/profiling/script_profile.h"
#include "base/callback.h"
#include "base/result.h"
#include "cli/blocking_script.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"
#include "worker/job.h"

namespace ridgeline::cli {

struct ScriptCommand {
  app::ProfileRequest place;           ///< `entry` is the script
  std::vector<std::string> arguments;  ///< of the script
  bool allow_writes = false;           ///< the runs may change files
};

/// For use cases: waits for each run. Operations are timed in an interpreter of their own, which stays warm.
class ScriptRuns final : public app::ExperimentRunner {
 public:
  /// A failure is written to stderr.
  static base::Result<std::unique_ptr<ScriptRuns>, ExitCode> open(ScriptCommand command);

  const app::Target& target() const { return target_; }
  /// Runs the script until its steps are measured. A failure is written to stderr.
  base::Result<app::ProfileRun, ExitCode> profile();

  base::Task<app::ExperimentOutcome> run(protocol::Experiment experiment) override;
  base::Task<void> off_loop(base::Callback work) override;
  std::string cache() const override { return target_.cache; }

 private:
  ScriptRuns(ScriptCommand command, app::Target target, worker::JobOptions job);

  ScriptCommand command_;
  app::Target target_;
  worker::JobOptions job_;
  BlockingScript script_;
  BlockingWorker worker_;
};

}  // namespace ridgeline::cli
