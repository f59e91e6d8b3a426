// Experiments on the step of a training script: the command runs again for them, and changes are switched on and off
// between the steps that it takes.
#pragma once

#include "app/profiling/script_runner.h"
#include "app/profiling/what_if_base.h"
#include "base/task.h"
#include "protocol/experiment.h"
#include "worker/job.h"

namespace ridgeline::app {

/// Runs a script for a capture or a trial. A changed step that raises ends the script: that is its answer, and the
/// script runs again for the other changes. `command`: as it was profiled, in one process. `allow_writes`: the command
/// may change files; else a run ends at the first change, unchanged. `runner` outlives the task.
base::Task<ExperimentOutcome> run_script_experiment(ScriptRunner& runner, worker::JobOptions command, bool allow_writes,
                                                    protocol::Experiment experiment);

}  // namespace ridgeline::app
