// A failure as text for a terminal, and the exit code that goes with it.
#pragma once

#include <string>

#include "app/profiling/request.h"
#include "app/profiling/use_case_failure.h"
#include "base/result.h"
#include "cli/exit_codes.h"

namespace ridgeline::cli {

/// "FILE:LINE: error: ..." with the user's own frames and, where they help, the last output of the process.
/// Control characters that come from user code are replaced.
std::string failure_text(const app::RunFailure& failure, const std::string& project_root);

/// docs/user/errors.md: which failures are the entry point's, and which are the machine's.
ExitCode exit_code_of(const protocol::Failure& failure);

/// Writes to stderr why a use case has no answer.
ExitCode report_failure(const app::UseCaseFailure& failure);

/// Writes to stderr why a command ends.
ExitCode fail(const std::string& message, int exit_code = kExitEnvironment);
ExitCode fail(const base::Error& error, int exit_code = kExitEnvironment);

}  // namespace ridgeline::cli
