// Operations of a step timed alone, and the table of their times: for the commands what-if and operations.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "commands/entry_runs.h"
#include "commands/exit_codes.h"
#include "profiling/what_if.h"
#include "protocol/worker_messages.h"
#include "worker/run_inbox.h"

namespace ridgeline::commands {

/// Runs an experiment, with its progress on the terminal. A failure is reported.
base::Result<worker::ExperimentFindings, ExitCode> run_experiment(EntryRuns& runs, protocol::Experiment experiment);

/// The times of operations: from the table, and what it does not have is measured and added to it. Where the table
/// cannot be used, that is a warning, and all are measured.
base::Result<profiling::TimesForAnswer, ExitCode> times_of_operations(EntryRuns& runs,
                                                                      const operations::Conditions& conditions,
                                                                      const std::vector<std::string>& keys,
                                                                      double seconds);

/// The same, added to what is `timed` already. References among the known ones are only timed again for the first of
/// one answer: what follows comes soon after it.
base::Result<void, ExitCode> add_times_of_operations(EntryRuns& runs, const operations::Conditions& conditions,
                                                     const std::vector<std::string>& keys, double seconds,
                                                     profiling::TimesForAnswer& timed);

}  // namespace ridgeline::commands
