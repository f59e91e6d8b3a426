// ridgeline.openReport: the text report of a file's profile, in an editor.
#pragma once

#include <string>

#include "methods/workspace.h"
#include "session/reply.h"

namespace ridgeline::methods {

/// Writes the report into the cache folder, asks the client to show it where it can, and answers {uri}.
base::Task<session::Outcome> open_report(Workspace& workspace, Entries& entries, std::string uri);

}  // namespace ridgeline::methods
