// ridgeline.openReport: the text report of a file's profile, in an editor. And other texts like it.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "editor/workspace.h"
#include "lsp/session/reply.h"

namespace ridgeline::editor {

/// Writes the report into the cache folder, asks the client to show it where it can, and answers {uri}.
base::Task<lsp::Outcome> open_report(Workspace& workspace, Entries& entries, std::string uri);

/// Writes what `make`, called where files may be read, returns into a file of that name there; shows and answers it
/// in the same way.
base::Task<lsp::Outcome> open_text(Workspace& workspace, Entries& entries, std::string file_name,
                                   std::function<base::Result<std::string>()> make);

}  // namespace ridgeline::editor
