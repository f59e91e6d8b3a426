// textDocument/hover: the breakdown of what is under the cursor.
#pragma once

#include <optional>

#include "methods/parameters.h"
#include "methods/snapshot.h"

namespace ridgeline::methods {

/// Of a provider's name, a class, a function or a line, in that order. Never waits for a profile; nothing where there
/// are no figures.
std::optional<protocol::Hover> hover(const Snapshot& snapshot, const HoverParams& params);

}  // namespace ridgeline::methods
