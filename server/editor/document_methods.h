// The methods about an open document.
#pragma once

#include "editor/method.h"
#include "editor/method_parameters.h"

namespace ridgeline::editor {

std::optional<protocol::Hover> hover_of(const Context& context, const Snapshot& snapshot, const HoverParams& params);
std::vector<protocol::CodeAction> actions_of(const Context& context, const Snapshot& snapshot,
                                             const CodeActionParams& params);
protocol::DocumentDiagnosticReport document_diagnostics(const Context& context, const Snapshot& snapshot,
                                                        const DocumentParams& params);
/// What `ridgeline init` writes for a script, as its text is in the editor. Nothing is written.
base::Task<lsp::Outcome> entry_point(Context context, DocumentParams params);
base::Task<lsp::Outcome> set_batch_size(Context context, SetBatchSizeParams params);
base::Task<lsp::Outcome> set_batch_size_command(Context context, CommandParams params);

}  // namespace ridgeline::editor
