// Two revisions of the user's repository, profiled in turns and compared.
#pragma once

#include <string>

#include "analysis/compare/compare_profiles.h"
#include "app/entry_profiler.h"
#include "app/profiling/request.h"
#include "app/profiling/use_case_failure.h"
#include "base/task.h"

namespace ridgeline::app {

struct RevisionsRequest {
  std::string range;  ///< "main..HEAD"
  int runs = 6;       ///< of each revision
};

/// Profiles `measurement.entry` in worktrees of both revisions, in the order A B B A A B …, so that a machine that
/// becomes faster or slower does so for both. The user's own working tree is not touched. Between profiles it waits for
/// git: for the command line only.
base::Task<Answer<analysis::Comparison>> compare_revisions(EntryProfiler& profiler, RevisionsRequest request,
                                                           ProfileRequest measurement, analysis::Settings settings);

}  // namespace ridgeline::app
