// The results of ridgeline/whatIf and ridgeline/try: what `ridgeline what-if --format json` says, with its figures in
// words.
#pragma once

#include <string>

#include "analysis/values/what_if.h"
#include "editor/snapshot.h"
#include "protocol/experiment.h"
#include "protocol/json_rpc.h"

namespace ridgeline::editor {

/// ridgeline/whatIf. `uri`: the entry file as the client names it.
protocol::Json what_if_json(const analysis::WhatIf& answer, const std::string& uri);

/// ridgeline/try: the only row of the answer.
protocol::Json tried_json(const analysis::WhatIf& answer);

/// ridgeline/changeEdit: `change` as an edit of the document, which is of the present version. `device`: the type that
/// the step runs on.
protocol::Json change_edit_json(const Snapshot& snapshot, const protocol::ChangeRequest& change,
                                const std::string& device);

}  // namespace ridgeline::editor
