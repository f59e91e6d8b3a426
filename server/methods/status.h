// ridgeline/status: what a user who wonders would like to know.
#pragma once

#include "methods/entries.h"
#include "methods/workspace.h"
#include "protocol/json_rpc.h"

namespace ridgeline::methods {

/// With a `textDocument` also where a profile of that file would lead.
protocol::Json status_json(const Workspace& workspace, const Entries& entries, const protocol::Json& params);

}  // namespace ridgeline::methods
