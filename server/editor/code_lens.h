// textDocument/codeLens: above a provider, what the profile says and what can be done.
#pragma once

#include <vector>

#include "editor/method_parameters.h"
#include "editor/snapshot.h"

namespace ridgeline::editor {

/// Above input_provider, or the first provider there is: "Profile", throughput, memory, and batch sizes to choose from.
/// None in a file without providers.
std::vector<protocol::CodeLens> code_lenses(const Snapshot& snapshot, const DocumentParams& params);

}  // namespace ridgeline::editor
