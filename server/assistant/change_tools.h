// The tools that predict, try and write changes.
#pragma once

#include "assistant/tool.h"

namespace ridgeline::assistant {

base::Task<ToolAnswer> predict(ToolContext& context, Json arguments);
base::Task<ToolAnswer> what_if(ToolContext& context, Json arguments);
base::Task<ToolAnswer> try_change(ToolContext& context, Json arguments);
base::Task<ToolAnswer> change_edit(ToolContext& context, Json arguments);
base::Task<ToolAnswer> check(ToolContext& context, Json arguments);

}  // namespace ridgeline::assistant
