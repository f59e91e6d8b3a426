// Profiles an entry point for a person at a terminal: shows progress and errors, and keeps the profile.
#pragma once

#include <string>

#include "app/profiling/request.h"
#include "app/profiling/run.h"
#include "base/result.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"

namespace ridgeline::commands {

/// What the request resolves to; a failure is written to stderr.
base::Result<profiling::Target, ExitCode> find_target_or_report(const profiling::ProfileRequest& request);

/// Profiles, and keeps the profile unless the request says not to. A failure is written to stderr, and so is a warning
/// when it could not be kept.
base::Result<profiling::ProfileRun, ExitCode> profile_now(EntryRuns& runs);
/// The same in an interpreter of its own.
base::Result<profiling::ProfileRun, ExitCode> profile_now(const profiling::ProfileRequest& request,
                                                          const profiling::Target& target);

/// Each line of `text` as "ridgeline: warning: …" on stderr, made safe to print.
void warn(const std::string& text);

}  // namespace ridgeline::commands
