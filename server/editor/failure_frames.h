// Where the failure of an entry is shown: at each frame of its traceback in the project's own files.
#pragma once

#include <string>
#include <vector>

#include "editor/entries.h"
#include "lsp/session/documents.h"

namespace ridgeline::editor {

/// Outermost first; a line that is there several times, as in a recursion, once, where it is innermost. Empty where the
/// run did not fail, or failed in nobody's code.
std::vector<protocol::TraceFrame> own_frames(const Entry& entry);

/// The file that has the error itself, others have hints: of the innermost frame in a file that is open; the entry file
/// where none is.
std::string file_of_failure(const Entry& entry, const lsp::Documents& documents);

}  // namespace ridgeline::editor
