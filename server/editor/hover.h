// textDocument/hover: the breakdown of what is under the cursor.
#pragma once

#include <optional>

#include "editor/method_parameters.h"
#include "editor/snapshot.h"

namespace ridgeline::editor {

/// The hover of a provider's name, a class, a function or a line, in that order. Never waits for a profile; absent
/// without figures. `uri_of`: how the client names a file of this machine.
std::optional<protocol::Hover> hover(const Snapshot& snapshot, const HoverParams& params, const UriOf& uri_of);

}  // namespace ridgeline::editor
