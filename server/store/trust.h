// The entry files that the user has given permission to run, stored in the cache folder.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/project_identity.h"

namespace ridgeline::store {

/// Reads `folder`/trust.json, oldest first. Empty when it cannot be read: nothing is trusted.
std::vector<ProjectIdentity> read_trust(const std::string& folder);

/// Adds one, replacing that of the same entry, and rewrites the file atomically, readable by its owner only. At most
/// 1024 are kept; the oldest are dropped first. Add only what is `lasting`.
base::Result<void> add_trust(const std::string& folder, const ProjectIdentity& agreed);

/// Whether permission was given for what is there `now`, and its identity is still reliable.
bool is_trusted(const std::string& folder, const ProjectIdentity& now);

/// Whether permission was ever given for the entry's path, whatever is there now.
bool was_trusted(const std::string& folder, const std::string& entry);

}  // namespace ridgeline::store
