// The report of a file's profile: ridgeline.openReport shows it as text in an editor, ridgeline/report answers the
// page. And other texts like it.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "editor/method.h"
#include "editor/method_parameters.h"
#include "editor/workspace.h"
#include "lsp/session/reply.h"

namespace ridgeline::editor {

/// The HTML report of a profile: {html}.
base::Task<lsp::Outcome> report_page(Context context, ProfileIdParams params);

/// Writes the report into the cache folder, asks the client to show it where it can, and answers {uri}.
base::Task<lsp::Outcome> open_report(Workspace& workspace, Entries& entries, std::string uri);

/// Writes what `make`, called where files may be read, returns into a file of that name there; shows and answers it
/// in the same way.
base::Task<lsp::Outcome> open_text(Workspace& workspace, Entries& entries, std::string file_name,
                                   std::function<base::Result<std::string>()> make);

}  // namespace ridgeline::editor
