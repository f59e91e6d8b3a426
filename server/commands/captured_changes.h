// Changes that the runner makes, predicted: their operations are captured, those that are not known are timed, and the
// answer follows. For the commands what-if and predict.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/values/what_if.h"
#include "base/result.h"
#include "commands/entry_runs.h"
#include "commands/exit_codes.h"
#include "profiling/what_if.h"

namespace ridgeline::commands {

/// What is asked, and of which step. The references outlive it.
struct CapturedChanges {
  EntryRuns& runs;
  const profiling::WhatIfBase& base;
  const analysis::Environment& environment;
  double measure_seconds = 60;  ///< for timing operations that are not known
};

struct CapturedAnswer {
  analysis::WhatIf answer;
  int disturbed = 0;  ///< operations that other processes disturbed while they were timed
};

/// A change's first prediction, from the times of what differs; with all times it may change a little.
using ShowFirst = std::function<void(const analysis::ChangeAnswer&)>;

/// Each request has a change that the runner makes (whatif::parts_of). A failure is written to stderr. `show`, where it
/// is given, is called for each request as soon as what differs was timed: those first that have least of it.
base::Result<CapturedAnswer, ExitCode> predict_captured(const CapturedChanges& asked,
                                                        const std::vector<protocol::ChangeRequest>& requests,
                                                        const whatif::UserChanges& user = {},
                                                        const ShowFirst& show = {});

/// What a reader of such an answer must know; empty: nothing. `measured` includes the disturbed ones.
std::string disturbed_text(int disturbed, int measured);

}  // namespace ridgeline::commands
