// The methods about a recorded job.
#pragma once

#include "editor/method.h"
#include "editor/method_parameters.h"

namespace ridgeline::editor {

base::Task<lsp::Outcome> job(Context context, JobParams params);
/// The text of `ridgeline job show`, with each `--change` of the argument.
base::Task<lsp::Outcome> open_job_command(Context context, CommandParams params);
/// The text of `ridgeline job optimize`, likewise.
base::Task<lsp::Outcome> optimize_job_command(Context context, CommandParams params);

}  // namespace ridgeline::editor
