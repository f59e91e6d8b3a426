#include "cli/imported_trace.h"

#include <utility>

#include "cli/failure_text.h"

namespace ridgeline::cli {

CLI::Option* add_step_boundary_option(CLI::App& command, std::string& value) {
  return command.add_option(
      "--step-boundary", value,
      "What ends a step of a trace: optimizer, dataloader, backward, none, the line where a function "
      "begins, as FILE:LINE, or the name of a range; default: detected");
}

base::Result<analysis::RunInput, ExitCode> import_or_report(const TraceOptions& options) {
  auto input = app::import_trace(options);
  if (!input) {
    return report_failure(input.error());
  }
  return std::move(*input);
}

base::Result<ImportedRank, ExitCode> import_rank_or_report(const TraceOptions& options) {
  auto rank = app::import_rank(options);
  if (!rank) {
    return report_failure(rank.error());
  }
  return std::move(*rank);
}

}  // namespace ridgeline::cli
