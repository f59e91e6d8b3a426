// `ridgeline operations plan` and `measure --on`: operations timed on a machine that the user's code never reaches.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"
#include "protocol/worker_messages.h"
#include "worker/run_inbox.h"

namespace ridgeline::cli {

/// The operations of the unchanged step and of the step with each of `changes`. `for_cuda`: those of a CUDA device
/// where the step is on the host, too. A failure is reported.
base::Result<worker::ExperimentFindings, ExitCode> capture_operations(EntryRuns& runs,
                                                                      const std::vector<std::string>& changes,
                                                                      bool for_cuda);

struct MeasureElsewhere {
  std::string host;  ///< as ssh knows it
  std::vector<std::string> ssh_options;
  std::string python = "python3";  ///< there
  bool all = false;                ///< also operations that the table knows of its device
};

/// Times the operations of the step, also with each of `changes`, on the host, with its Python and torch, and adds them
/// to this user's table. The exit code.
int measure_elsewhere(const MeasureElsewhere& where, EntryRuns& runs, const std::vector<std::string>& changes,
                      double seconds);

void add_plan_command(CLI::App& operations, int& exit_code);

}  // namespace ridgeline::cli
