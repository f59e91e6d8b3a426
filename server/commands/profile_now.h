// Profiles an entry point with a person looking on: progress, what went wrong, and the result kept.
#pragma once

#include <string>

#include "base/result.h"
#include "commands/exit_codes.h"
#include "profiling/request.h"
#include "profiling/run.h"

namespace ridgeline::commands {

/// Where the request leads; else the failure is on stderr.
base::Result<profiling::Target, ExitCode> find_target_or_report(const profiling::ProfileRequest& request);

/// Profiles, and keeps the profile; else the failure is on stderr. A profile that could not be kept is a warning there.
base::Result<profiling::ProfileRun, ExitCode> profile_now(const profiling::ProfileRequest& request,
                                                          const profiling::Target& target);

/// Each line of `text` as "ridgeline: warning: …" on stderr, made safe to print.
void warn(const std::string& text);

}  // namespace ridgeline::commands
