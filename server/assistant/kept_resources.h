// Profiles that were made before this session, as resources.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/json_rpc.h"

namespace ridgeline::assistant {

using protocol::Json;

/// Entries of resources/list: the stored profiles of entry points below `folder`, without those of `known`, the newest
/// first. Empty where the store cannot be read. Reads the disk.
Json kept_resources(const std::string& folder, const std::vector<std::string>& known);

/// The report of a stored profile of an entry point below `folder`, as quoted text; nothing: there is none of that id.
/// Reads the disk.
std::optional<std::string> kept_resource(const std::string& folder, const std::string& profile_id);

}  // namespace ridgeline::assistant
