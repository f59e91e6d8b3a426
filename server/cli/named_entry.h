// What a command is about, where the user does not name its file.
#pragma once

#include <optional>

#include "app/profiling/request.h"
#include "base/result.h"
#include "cli/exit_codes.h"
#include "store/profile_store.h"

namespace ridgeline::cli {

/// Makes a request without a file, or with the id of a stored profile, one for the entry that was profiled last here,
/// or that the profile is of, and says on stderr which that is. The profile, where its id was given. A failure is
/// written to stderr.
base::Result<std::optional<store::ProfileRow>, ExitCode> find_named_entry(app::ProfileRequest& request);

}  // namespace ridgeline::cli
