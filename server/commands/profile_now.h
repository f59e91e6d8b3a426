// Profiles an entry point with a person looking on: progress, what went wrong, and the result kept.
#pragma once

#include <optional>

#include "profiling/request.h"
#include "profiling/run.h"

namespace ridgeline::commands {

/// Where the request leads; else the failure is on stderr and `exit_code` is set.
std::optional<profiling::Target> find_target_or_say(const profiling::ProfileRequest& request, int& exit_code);

/// Profiles, and keeps the profile. Nothing when it failed: likewise. A profile that could not be kept is a warning on
/// stderr.
std::optional<profiling::ProfileRun> profile_now(const profiling::ProfileRequest& request,
                                                 const profiling::Target& target, int& exit_code);

/// Each line of `text` as "ridgeline: warning: …" on stderr, made safe to print.
void warn(const std::string& text);

}  // namespace ridgeline::commands
