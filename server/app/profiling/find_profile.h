// A profile that was made before, by what a user names it.
#pragma once

#include <string>

#include "analysis/values/profile.h"
#include "base/result.h"

namespace ridgeline::app {

/// The profile of a report in JSON, or that is kept under an id, with its models fitted. A file goes before an id.
base::Result<analysis::Profile> find_profile(const std::string& name);

}  // namespace ridgeline::app
