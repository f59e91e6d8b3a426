// ridgeline/status: the machine and the queue of profiles, the entries that are known, and what a profile would run.
#pragma once

#include <string>

#include "base/task.h"
#include "editor/entries.h"
#include "editor/workspace.h"
#include "protocol/json_rpc.h"

namespace ridgeline::editor {

/// ridgeline/status, without its target.
protocol::Json status_json(const lsp::Session& session, const Entries& entries);

/// Its target: where a profile of the file would lead, or the problem.
base::Task<protocol::Json> target_json(Workspace& workspace, Entries& entries, std::string path);

}  // namespace ridgeline::editor
