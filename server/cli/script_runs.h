// The runs of a training script for predictions and what-if answers: its profile, and further runs for experiments.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment_runner.h"
#include "app/profiling/request.h"
#include "app/profiling/run_script.h"
#include "app/profiling/script_profile.h"
#include "base/callback.h"
#include "base/result.h"
#include "cli/blocking_script.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"
#include "worker/job.h"

namespace ridgeline::cli {

/// What a command that takes an entry point or a script is told about a script.
struct ScriptOptions {
  std::vector<std::string> arguments;  ///< of the script
  bool allow_writes = false;           ///< the runs may change files
};

/// --allow-writes.
void add_script_options(CLI::App& command, const std::shared_ptr<ScriptOptions>& options);
/// Why they cannot be given with that entry point; empty: none is.
std::string script_options_problem(const ScriptOptions& options, const std::string& entry);

struct ScriptCommand {
  app::ProfileRequest place;  ///< `entry` is the script
  ScriptOptions options;
};

/// For use cases: waits for each run. Operations are timed in an interpreter of their own, which stays warm.
class ScriptRuns final : public app::ExperimentRunner {
 public:
  /// A failure is written to stderr.
  static base::Result<std::unique_ptr<ScriptRuns>, ExitCode> open(ScriptCommand command);

  const app::Target& target() const { return target_; }
  /// Tells the user how the script is run.
  void announce() const;
  /// Runs the script until its steps are measured, and again at the place's batch sizes, or at some that are chosen,
  /// where `with_sizes` says so. A failure is written to stderr.
  base::Result<app::ProfileRun, ExitCode> profile(bool with_sizes);

  base::Task<app::ExperimentOutcome> run(protocol::Experiment experiment) override;
  base::Task<void> off_loop(base::Callback work) override;
  std::string cache() const override { return target_.cache; }

 private:
  /// Why a run that took no step is none.
  std::string nothing_text(const app::ScriptRun& ran) const;

  ScriptRuns(ScriptCommand command, app::Target target, worker::JobOptions job);

  ScriptCommand command_;
  app::Target target_;
  worker::JobOptions job_;
  BlockingScript script_;
  BlockingWorker worker_;
};

}  // namespace ridgeline::cli
