// Which entry files the user lets run: kept in the cache folder.
#pragma once

#include <string>
#include <vector>

#include "store/project_identity.h"

namespace ridgeline::store {

/// Reads `folder`/trust.json, oldest first. Nothing readable there: nobody is trusted.
std::vector<ProjectIdentity> read_trust(const std::string& folder);

/// Adds one, replacing what the same entry had, and writes the file anew in one step, readable by its owner only.
/// False with `error` when that fails. At most 1024 are kept; the oldest go first. Add only what is `lasting`.
bool add_trust(const std::string& folder, const ProjectIdentity& agreed, std::string& error);

/// Whether what is there `now` was agreed to, and can still be told.
bool is_trusted(const std::string& folder, const ProjectIdentity& now);

/// Whether the entry's path was ever agreed to, whatever stands there now.
bool was_trusted(const std::string& folder, const std::string& entry);

}  // namespace ridgeline::store
