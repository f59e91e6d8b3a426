// The methods about a profile, and those that make one.
#pragma once

#include "editor/method.h"
#include "editor/method_parameters.h"

namespace ridgeline::editor {

protocol::Json breakdown(const Context& context, const Entry& entry, const BreakdownParams& params);
protocol::Json costliest(const Context& context, const Entry& entry, const ProfileIdParams& params);
protocol::Json predictions(const Context& context, const Entry& entry, const ProfileIdParams& params);
base::Task<lsp::Outcome> line_costs(Context context, LineCostsParams params);
base::Task<lsp::Outcome> predict(Context context, PredictParams params);
/// The summary of a document, or of a profile: a client learns the profile's id by its document.
base::Task<lsp::Outcome> summary(Context context, SummaryParams params);
base::Task<lsp::Outcome> profile(Context context, ProfileParams params);
base::Task<lsp::Outcome> run_script(Context context, RunParams params);
base::Task<lsp::Outcome> status(Context context, StatusParams params);

base::Task<lsp::Outcome> profile_command(Context context, CommandParams params);
base::Task<lsp::Outcome> run_command(Context context, CommandParams params);
base::Task<lsp::Outcome> cancel_command(Context context, CommandParams params);
base::Task<lsp::Outcome> open_report_command(Context context, CommandParams params);

}  // namespace ridgeline::editor
