// Profiles an entry point for a person at a terminal: shows progress and errors, and keeps the profile.
#pragma once

#include <string>

#include "app/entry_profiler.h"
#include "app/profiling/profile_run.h"
#include "app/profiling/request.h"
#include "base/result.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"
#include "cli/interrupts.h"

namespace ridgeline::cli {

/// What the request resolves to; a failure is written to stderr.
base::Result<app::Target, ExitCode> find_target_or_report(const app::ProfileRequest& request);

/// Profiles, and keeps the profile unless the request says not to. A failure is written to stderr, and so is a warning
/// when it could not be kept.
base::Result<app::ProfileRun, ExitCode> profile_now(EntryRuns& runs);
/// The same in an interpreter of its own.
base::Result<app::ProfileRun, ExitCode> profile_now(const app::ProfileRequest& request, const app::Target& target);

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

/// Each line of `text` as "ridgeline: warning: …" on stderr, made safe to print.
void warn(const std::string& text);

}  // namespace ridgeline::cli
