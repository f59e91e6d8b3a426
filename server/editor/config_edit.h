// The edit of a batch size that stands in a configuration file beside the script.
#pragma once

#include <memory>

#include "base/task.h"
#include "editor/figures.h"
#include "editor/method.h"
#include "protocol/json_rpc.h"

namespace ridgeline::editor {

/// An answer with `edit` and `noEditReason`; where there is no edit, with that of the file that has the number, as long
/// as it is on the disk what it was when the step ran. Otherwise as it is.
base::Task<protocol::Json> with_config_edit(Context context, std::shared_ptr<const Figures> figures, int batch_size,
                                            protocol::Json answer);

}  // namespace ridgeline::editor
