// Two revisions of the user's repository, profiled in turns and compared.
#pragma once

#include <string>

#include "analysis/compare/compare_profiles.h"
#include "app/profiling/request.h"
#include "base/result.h"
#include "cli/exit_codes.h"

namespace ridgeline::cli {

struct RevisionsRequest {
  int runs = 6;  ///< of each revision
};

/// Profiles `measurement.entry` in worktrees of both revisions, in the order A B B A A B …, so that a machine that
/// becomes faster or slower does so for both. The user's own working tree is not touched. A failure, or an interrupt,
/// has been written to stderr.
base::Result<analysis::Comparison, ExitCode> compare_revisions(const std::string& range,
                                                               app::ProfileRequest measurement,
                                                               const RevisionsRequest& request,
                                                               analysis::Settings settings);

}  // namespace ridgeline::cli
