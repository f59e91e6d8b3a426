// textDocument/codeAction: other batch sizes, each with what it brings, and fixes of providers.
#pragma once

#include <vector>

#include "methods/parameters.h"
#include "methods/snapshot.h"

namespace ridgeline::methods {

/// On a line of input_provider's signature: batch sizes to choose from. On a mistake: its fix, where there is one.
std::vector<protocol::CodeAction> code_actions(const Snapshot& snapshot, const CodeActionParams& params);

}  // namespace ridgeline::methods
