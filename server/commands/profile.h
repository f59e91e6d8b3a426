// `ridgeline profile ENTRY`: profiles an entry point and prints the report.
#pragma once

#include <CLI/CLI.hpp>

namespace ridgeline::commands {

/// Exit codes, all commands: docs/errors.md.
inline constexpr int kExitOk = 0;
inline constexpr int kExitEntryFailed = 1;  ///< the user's code
inline constexpr int kExitUsage = 2;
inline constexpr int kExitEnvironment = 3;  ///< the interpreter, torch, the compiler, the cache
inline constexpr int kExitCancelled = 130;

void add_profile_command(CLI::App& app, int& exit_code);

}  // namespace ridgeline::commands
