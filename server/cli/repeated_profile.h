// Profiles for comparisons: only the batch size that the code has, and nothing kept.
#pragma once

#include <vector>

#include "app/profiling/request.h"
#include "cli/profile_now.h"

namespace ridgeline::cli {

/// The request with the entry file's own batch size, where its text shows it: others would take time and say nothing.
app::ProfileRequest for_comparison(app::ProfileRequest request, const app::Target& target);

}  // namespace ridgeline::cli
