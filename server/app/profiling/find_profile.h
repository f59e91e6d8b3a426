// A profile that was made before, by what a user names it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/values/profile.h"
#include "base/result.h"
#include "store/profile_store.h"

namespace ridgeline::app {

/// The profile of a report in JSON, or that is kept under an id, with its models fitted. A file goes before an id.
base::Result<analysis::Profile> find_profile(const std::string& name);

/// The kept profile that was made last of an entry below `folder`, or of a project that `folder` is in.
base::Result<store::ProfileRow> last_profile(const std::string& folder);

/// The kept profiles of entries below `folder`, a real path, newest first: at most 16.
base::Result<std::vector<store::ProfileRow>> profiles_below(const std::string& folder);

/// The kept profile that was made last of that file; nothing: there is none.
base::Result<std::optional<store::ProfileRow>> last_profile_of(const std::string& entry);

/// The kept profile of that id; nothing: it is no id, or there is a file of that name.
base::Result<std::optional<store::ProfileRow>> profile_of_id(const std::string& name);

}  // namespace ridgeline::app
