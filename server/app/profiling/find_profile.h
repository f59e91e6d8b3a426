// A profile that was made before, by what a user names it.
#pragma once

#include <string>

#include "analysis/values/profile.h"
#include "base/result.h"

namespace ridgeline::app {

/// The profile of a report in JSON, or that is kept under an id, with its models fitted. A file goes before an id.
base::Result<analysis::Profile> find_profile(const std::string& name);

/// The id of the kept profile that was made last of an entry below `folder`, or of a project that `folder` is in.
base::Result<std::string> last_profile_id(const std::string& folder);

}  // namespace ridgeline::app
