// Profiles for comparisons: only the batch size that the code has, and nothing kept.
#pragma once

#include "app/profiling/request.h"

namespace ridgeline::app {

/// The request with the entry file's own batch size, where its text shows it: others would take time and say nothing.
ProfileRequest for_comparison(ProfileRequest request, const Target& target);

}  // namespace ridgeline::app
