// textDocument/codeAction: other batch sizes and changes of the step, each with what it brings; fixes of providers.
#pragma once

#include <span>
#include <vector>

#include "editor/change_actions.h"
#include "editor/method_parameters.h"
#include "editor/snapshot.h"

namespace ridgeline::editor {

/// On a line of input_provider's signature: batch sizes to choose from. On a mistake: its fix, where there is one.
/// Where one of `changes` would be written: that.
std::vector<protocol::CodeAction> code_actions(const Snapshot& snapshot, const CodeActionParams& params,
                                               std::span<const WrittenChange> changes);

}  // namespace ridgeline::editor
