// Profiles for comparisons: only the batch size that the code has, and nothing kept.
#pragma once

#include <vector>

#include "app/profiling/request.h"
#include "cli/profile_now.h"

namespace ridgeline::commands {

/// The request with the entry file's own batch size, where its text shows it: others would take time and say nothing.
profiling::ProfileRequest for_comparison(profiling::ProfileRequest request, const profiling::Target& target);

}  // namespace ridgeline::commands
